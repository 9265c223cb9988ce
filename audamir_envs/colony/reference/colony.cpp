// Random plies of Colony (58 cells, three pieces, holes toward the first mover) on one core: what plain C++ does on
// bitboards, as a yardstick for the JAX environment. It chooses uniformly among the legal actions, a copy counting once
// for each target, and starts a new game after the end. Prints: plies, games, first mover's wins, draws, seconds.
// Usage: colony PLIES SEED

#include <chrono>
#include <cstdio>
#include <utility>

#include "colony.hpp"

namespace {

struct Random {  // xorshift64*
  std::uint64_t state;
  std::uint32_t below(std::uint32_t limit) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const std::uint64_t word = (state * 0x2545F4914F6CDD1DULL) >> 32;
    return static_cast<std::uint32_t>((word * limit) >> 32);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: colony PLIES SEED\n");
    return 2;
  }
  const long plies = std::atol(argv[1]);
  Random random{static_cast<std::uint64_t>(std::atol(argv[2])) * 2 + 1};
  build_tables();
  const Board first = bit(4, 0) | bit(0, -4) | bit(-4, 4);
  const Board second = bit(-4, 0) | bit(0, 4) | bit(4, -4);
  const Board all = (Board{1} << kCells) - 1 - (bit(1, 0) | bit(0, -1) | bit(-1, 1));
  long games = 0, wins = 0, draws = 0;
  const auto start = std::chrono::steady_clock::now();
  Board own = first, enemy = second;
  int turn = 0;
  for (long ply = 0; ply < plies; ++ply) {
    const Board empty = all & ~(own | enemy);
    const Moves moves = moves_of(own, empty);
    if (const int count = moves.count()) {
      int choice = static_cast<int>(random.below(static_cast<std::uint32_t>(count)));
      const int copies = std::popcount(moves.copies);
      int target;
      if (choice < copies) {
        target = nth_cell(moves.copies, choice);
      } else {
        choice -= copies;
        for (Board rest = own;;) {
          const int cell = take_lowest(rest);
          const Board landings = jumps_of[cell] & empty;
          const int here = std::popcount(landings);
          if (choice < here) {
            own ^= Board{1} << cell;
            target = nth_cell(landings, choice);
            break;
          }
          choice -= here;
        }
      }
      const Board turned = near_of[target] & enemy;
      own |= (Board{1} << target) | turned;
      enemy ^= turned;
    }
    std::swap(own, enemy);
    ++turn;
    const Board left = all & ~(own | enemy);
    if (!own || !enemy || turn == kMaxTurns || (!moves_of(own, left).count() && !moves_of(enemy, left).count())) {
      const bool first_to_move = turn % 2 == 0;
      const int lead = std::popcount(first_to_move ? own : enemy) - std::popcount(first_to_move ? enemy : own);
      ++games;
      wins += lead > 0;
      draws += lead == 0;
      own = first;
      enemy = second;
      turn = 0;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%ld %ld %ld %ld %.6f\n", plies, games, wins, draws, seconds);
}
