#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

namespace paceline::base {

/// What a random draw is for; part of its key, so that draws for one purpose never shift another's.
/// The numbers are part of reproducibility: never reuse or reorder them.
enum class DrawPurpose : std::uint32_t {
  kSampleOrder = 1,
  kAugmentation = 2,
  kInitialization = 3,
  kDropout = 4,
  kDropPath = 5,
  kMixing = 6,
  kSynthesis = 7,
  kTest = 8,
  kGradientCompression = 9,
  kNestedOrder = 10,
  kSubset = 11,
  kFirstOwn = 1000,  ///< this and higher numbers are for programs that add components of their own
};

/// Philox4x32-10, a counter-based generator: the same key gives the same draws on any machine,
/// thread and rank, and distinct keys give independent streams. Paper: Salmon et al., "Parallel
/// random numbers: as easy as 1, 2, 3", SC 2011.
class Philox {
 public:
  using Block = std::array<std::uint32_t, 4>;

  /// `group` is the epoch or step, `position` the place in the global order (or a parameter's
  /// number).
  Philox(std::uint64_t seed, DrawPurpose purpose, std::uint64_t group, std::uint64_t position)
      : key_(mix(seed ^ (static_cast<std::uint64_t>(purpose) * 0x9E3779B97F4A7C15ull))),
        group_(group),
        position_(position) {}

  /// Ten rounds over one counter; the published function, exposed for tests and for kernels.
  static Block generate(Block counter, std::uint32_t key0, std::uint32_t key1) {
    for (int round = 0; round < kRounds; ++round) {
      counter = mix_round(counter, key0, key1);
      key0 += kKeyStep0;
      key1 += kKeyStep1;
    }
    return counter;
  }

  /// What generate() is made of; for philox_lanes.h.
  static constexpr int kRounds = 10;
  static constexpr std::uint32_t kKeyStep0 = 0x9E3779B9u;
  static constexpr std::uint32_t kKeyStep1 = 0xBB67AE85u;
  [[gnu::always_inline]] static Block mix_round(const Block& words, std::uint32_t key0,
                                                std::uint32_t key1) {
    const std::uint64_t product0 = 0xD2511F53ull * words[0];
    const std::uint64_t product1 = 0xCD9E8D57ull * words[2];
    return {static_cast<std::uint32_t>(product1 >> 32) ^ words[1] ^ key0,
            static_cast<std::uint32_t>(product1),
            static_cast<std::uint32_t>(product0 >> 32) ^ words[3] ^ key1,
            static_cast<std::uint32_t>(product0)};
  }

  /// What generate() makes block `index` of this stream from; for kernels that make many at once.
  struct Counter {
    Block words;
    std::uint32_t key0;
    std::uint32_t key1;
  };
  Counter counter(std::uint32_t index) const {
    return {{index, static_cast<std::uint32_t>(group_), static_cast<std::uint32_t>(position_),
             (static_cast<std::uint32_t>(position_ >> 32) << 16) ^
                 static_cast<std::uint32_t>(group_ >> 32)},
            static_cast<std::uint32_t>(key_),
            static_cast<std::uint32_t>(key_ >> 32)};
  }

  /// Block number `index` of this stream: four words, without changing the generator.
  Block block(std::uint32_t index) const {
    const Counter from = counter(index);
    return generate(from.words, from.key0, from.key1);
  }

  std::uint32_t next() {
    if (used_ == 4) {
      words_ = block(next_block_++);
      used_ = 0;
    }
    return words_[static_cast<std::size_t>(used_++)];
  }
  std::uint64_t next64() {
    const std::uint64_t high = next();
    return (high << 32) | next();
  }

  /// In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next64() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// An integer in [0, bound), bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Uint128>(next64()) * bound) >> 64);
  }
  /// Standard normal, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  __extension__ using Uint128 = unsigned __int128;

  /// SplitMix64's finalizer: spreads neighbouring seeds over the key space.
  static std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
  }

  std::uint64_t key_;
  std::uint64_t group_;
  std::uint64_t position_;
  Block words_{};
  std::uint32_t next_block_ = 0;
  int used_ = 4;
};

/// Brings items into an order, each as likely. Paper: Durstenfeld, "Algorithm 235: Random
/// permutation", CACM 1964.
template <class Items>
void shuffle(Items& items, Philox& draws) {
  for (std::size_t count = items.size(); count > 1; --count)
    std::swap(items[count - 1], items[draws.below(count)]);
}

}  // namespace paceline::base
