#include "paceline/tensor/normal_blocks.h"

#include "paceline/base/philox_lanes.h"
#include "paceline/tensor/draw_code.h"

// The loops below become vector code only at this level and where no operation may trap.
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")

namespace paceline::tensor {
namespace {

constexpr std::size_t kBlocks = kDrawChunk / 4;

using Words = base::PhiloxLanes<kBlocks>;  ///< of consecutive blocks

void draw_words(const base::Philox& stream, std::uint32_t chunk, Words& words) {
  const base::Philox::Counter first = stream.counter(chunk * static_cast<std::uint32_t>(kBlocks));
  for (std::size_t i = 0; i < kBlocks; ++i) {
    words.word[0][i] = first.words[0] + static_cast<std::uint32_t>(i);
    words.word[1][i] = first.words[1];
    words.word[2][i] = first.words[2];
    words.word[3][i] = first.words[3];
  }
  base::generate(words, first.key0, first.key1);
}

}  // namespace

void uniform_chunk(const base::Philox& stream, std::uint32_t chunk, float* out) {
  Words words;
  draw_words(stream, chunk, words);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::size_t word = 0; word < 4; ++word) out[4 * i + word] = to_unit(words.word[word][i]);
  }
}

void normal_chunk(const base::Philox& stream, std::uint32_t chunk, float* out) {
  Words words;
  draw_words(stream, chunk, words);
  alignas(64) float normals[4][kBlocks];
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      normals_of_words(words.word[pair][i], words.word[pair + 1][i], normals[pair][i],
                       normals[pair + 1][i]);
    }
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::size_t word = 0; word < 4; ++word) out[4 * i + word] = normals[word][i];
  }
}

}  // namespace paceline::tensor

#pragma GCC pop_options
