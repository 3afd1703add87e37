#pragma once

#include "paceline/base/philox.h"

#include <cstddef>
#include <cstdint>

namespace paceline::base {

/// Counters, and then the drawn words, of kLanes Philox blocks side by side: an array per word, so
/// that loops over lanes become vector code.
template <std::size_t kLanes>
struct PhiloxLanes {
  alignas(64) std::uint32_t word[4][kLanes];
};

/// Philox::generate() in every lane.
template <std::size_t kLanes>
[[gnu::always_inline]] inline void generate(PhiloxLanes<kLanes>& lanes, std::uint32_t key0,
                                            std::uint32_t key1) {
  for (int round = 0; round < Philox::kRounds; ++round) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const Philox::Block words = Philox::mix_round(
          {lanes.word[0][i], lanes.word[1][i], lanes.word[2][i], lanes.word[3][i]}, key0, key1);
      for (std::size_t word = 0; word < 4; ++word) lanes.word[word][i] = words[word];
    }
    key0 += Philox::kKeyStep0;
    key1 += Philox::kKeyStep1;
  }
}

}  // namespace paceline::base
