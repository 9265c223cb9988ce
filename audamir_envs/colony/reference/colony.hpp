// The board of Colony on bitboards: 61 cells of a hexagon of side 5, numbered in the order (r, q).
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>

using Board = std::uint64_t;

namespace {

constexpr int kSide = 5;
constexpr int kCells = 61;
constexpr int kMaxTurns = 400;

Board near_of[kCells];   // cells at distance 1
Board jumps_of[kCells];  // cells at distance 2
int number_of[9][9];     // cell of (q + 4, r + 4), or -1

[[maybe_unused]] Board bit(int q, int r) { return Board{1} << number_of[q + 4][r + 4]; }

int distance(int q, int r) { return (std::abs(q) + std::abs(r) + std::abs(q + r)) / 2; }

void build_tables() {
  const int n = kSide - 1;
  int qs[kCells], rs[kCells], count = 0;
  for (auto& column : number_of)
    for (int& cell : column) cell = -1;
  for (int r = -n; r <= n; ++r)
    for (int q = -n; q <= n; ++q)
      if (distance(q, r) <= n) {
        qs[count] = q;
        rs[count] = r;
        number_of[q + 4][r + 4] = count++;
      }
  for (int a = 0; a < kCells; ++a)
    for (int b = 0; b < kCells; ++b) {
      const int d = distance(qs[a] - qs[b], rs[a] - rs[b]);
      if (d == 1) near_of[a] |= Board{1} << b;
      if (d == 2) jumps_of[a] |= Board{1} << b;
    }
}

int take_lowest(Board& board) {
  const int cell = std::countr_zero(board);
  board &= board - 1;
  return cell;
}

[[maybe_unused]] int nth_cell(Board board, int n) {
  while (n-- > 0) board &= board - 1;
  return std::countr_zero(board);
}

struct Moves {
  Board copies = 0;
  int jumps = 0;
  int count() const { return std::popcount(copies) + jumps; }
};

Moves moves_of(Board own, Board empty) {
  Moves moves;
  Board near = 0;
  for (Board rest = own; rest;) {
    const int cell = take_lowest(rest);
    near |= near_of[cell];
    moves.jumps += std::popcount(jumps_of[cell] & empty);
  }
  moves.copies = near & empty;
  return moves;
}

}  // namespace
