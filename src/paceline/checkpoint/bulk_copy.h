#pragma once

#include <cstddef>
#include <vector>

namespace paceline::checkpoint {

/// Copies of memory that are done together, by as many threads as LibTorch has and past the caches:
/// what is written is not read soon, and to fetch its lines first would cost half as much again.
class BulkCopy {
 public:
  /// Notes a copy between ranges that do not overlap. Both must stay until run().
  void add(void* to, const void* from, std::size_t size);
  /// Does what was noted, and forgets it.
  void run();

 private:
  struct Piece {
    std::byte* to;
    const std::byte* from;
    std::size_t size;
  };
  static void stream(Piece piece);

  std::vector<Piece> pieces_;
};

}  // namespace paceline::checkpoint
