#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::data {

/// Moves bytes towards the processor piece by piece, between other work: asked for more lines at
/// once than it can have under way (about a dozen), a processor stops until the first are there.
class Prefetch {
 public:
  Prefetch() = default;
  explicit Prefetch(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  /// Asks for the next piece. Not all need be asked for: the processor goes on by itself.
  void advance() {
    const auto piece = left_.first(std::min(left_.size(), kPiece));
    for (std::size_t at = 0; at < piece.size(); at += kLine)
      __builtin_prefetch(piece.data() + at, /*write=*/0, /*second-level cache*/ 2);
    left_ = left_.subspan(piece.size());
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kPiece = 12 * kLine;

  std::span<const std::uint8_t> left_;
};

}  // namespace paceline::data
