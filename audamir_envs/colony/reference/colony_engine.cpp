// Colony as a UGI engine: alpha-beta on the difference of pieces over the reference's bitboards.
//   g++ -std=c++20 -O3 -o colony_engine colony_engine.cpp
//   audamir evaluate colony-v0 "ugi:./colony_engine:depth=3" normal --games 20
// Options: `go depth N` searches N plies (3 otherwise). It knows the rule claim_empty by `setoption`.

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "colony.hpp"

namespace {

constexpr int kWin = 1000;

struct Position {
  Board own = 0, enemy = 0, blocked = 0;
  int turn = 0;
  Board empty() const { return ((Board{1} << kCells) - 1) & ~(own | enemy | blocked); }
};

struct Move {
  int origin = -1, target = -1;  // no origin: a copy; no target: a pass
};

bool claim_empty = false;
std::string label[kCells];
std::map<std::string, int> cell_of;

void name_cells() {
  for (int r = -4; r <= 4; ++r)
    for (int q = -4, place = 1; q <= 4; ++q)
      if (number_of[q + 4][r + 4] >= 0) {
        const int cell = number_of[q + 4][r + 4];
        label[cell] = std::string(1, static_cast<char>('e' - r)) + std::to_string(place++);
        cell_of[label[cell]] = cell;
      }
}

std::vector<Move> list_moves(const Position& position) {
  std::vector<Move> moves;
  for (Board rest = moves_of(position.own, position.empty()).copies; rest;) moves.push_back({-1, take_lowest(rest)});
  for (Board own = position.own; own;) {
    const int origin = take_lowest(own);
    for (Board rest = jumps_of[origin] & position.empty(); rest;) moves.push_back({origin, take_lowest(rest)});
  }
  if (moves.empty()) moves.push_back({});
  return moves;
}

Position after(Position position, Move move) {
  if (move.target >= 0) {
    if (move.origin >= 0) position.own ^= Board{1} << move.origin;
    const Board turned = near_of[move.target] & position.enemy;
    position.own |= (Board{1} << move.target) | turned;
    position.enemy ^= turned;
  }
  std::swap(position.own, position.enemy);
  ++position.turn;
  return position;
}

// Whether the game is over, and by how much the mover leads.
bool over(const Position& position, int& lead) {
  lead = std::popcount(position.own) - std::popcount(position.enemy);
  const bool can = moves_of(position.own, position.empty()).count();
  const bool other = moves_of(position.enemy, position.empty()).count();
  if (claim_empty && can != other) lead += (can ? 1 : -1) * std::popcount(position.empty());
  return !position.own || !position.enemy || position.turn >= kMaxTurns || (!can && !other) ||
         (claim_empty && can != other);
}

int search(const Position& position, int depth, int alpha, int beta) {
  int lead;
  if (over(position, lead)) return lead > 0 ? kWin + lead : lead < 0 ? lead - kWin : 0;
  if (depth == 0) return lead;
  for (const Move move : list_moves(position)) {
    alpha = std::max(alpha, -search(after(position, move), depth - 1, -beta, -alpha));
    if (alpha >= beta) break;
  }
  return alpha;
}

Move best(const Position& position, int depth) {
  Move chosen;
  int alpha = -10 * kWin;
  for (const Move move : list_moves(position)) {
    const int value = -search(after(position, move), depth - 1, -10 * kWin, -alpha);
    if (value > alpha) alpha = value, chosen = move;
  }
  return chosen;
}

std::string write(Move move) {
  if (move.target < 0) return "pass";
  return (move.origin < 0 ? "" : label[move.origin] + "-") + label[move.target];
}

Move read(const std::string& text) {
  const auto dash = text.find('-');
  if (text == "pass") return {};
  if (dash == std::string::npos) return {-1, cell_of.at(text)};
  return {cell_of.at(text.substr(0, dash)), cell_of.at(text.substr(dash + 1))};
}

Position read_position(const std::string& rows, const std::string& mover, int turn) {
  Position position;
  position.turn = turn;
  int cell = 0;
  for (const char symbol : rows) {
    if (symbol == '/') continue;
    if (symbol == '#') position.blocked |= Board{1} << cell;
    if (symbol == 'x' || symbol == 'o') (symbol == mover[0] ? position.own : position.enemy) |= Board{1} << cell;
    ++cell;
  }
  return position;
}

const char* const kStart = "x...o/....../......./...#..../o....#..x/...#..../......./....../x...o";

}  // namespace

int main() {
  build_tables();
  name_cells();
  Position position = read_position(kStart, "x", 0);
  for (std::string line, word; std::getline(std::cin, line);) {
    std::istringstream words(line);
    words >> word;
    if (word == "ugi") {
      std::cout << "id name alphabeta\nid author audamir-envs\n"
                << "option name claim_empty type check default false\nugiok" << std::endl;
    } else if (word == "isready") {
      std::cout << "readyok" << std::endl;
    } else if (word == "setoption") {
      std::string skip, name, value;
      words >> skip >> name >> skip >> value;
      if (name == "claim_empty") claim_empty = value == "True" || value == "true";
    } else if (word == "position") {
      std::string rows = kStart, mover = "x", seat;
      int turn = 0;
      words >> word;
      if (word == "fen") words >> rows >> mover >> turn >> seat;
      position = read_position(rows, mover, turn);
      words >> word;  // "moves"
      while (words >> word) position = after(position, read(word));
    } else if (word == "go") {
      int depth = 3;
      while (words >> word)
        if (word == "depth") words >> depth;
      std::cout << "bestmove " << write(best(position, std::max(depth, 1))) << std::endl;
    } else if (word == "quit") {
      break;
    }
  }
}
