#include "paceline/tensor/normal_blocks.h"

#include "paceline/base/philox_lanes.h"

#include <bit>

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

float to_unit(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}

/// Natural logarithm of x in (0, 1]: the exponent, and atanh's series on the mantissa.
float log_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // The mantissa is brought to [sqrt(1/2), sqrt(2)), where the series converges fastest.
  const std::uint32_t shifted = bits - 0x3f3504f3u;
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(shifted) >> 23);
  const float mantissa = std::bit_cast<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float s = (mantissa - 1.0f) / (mantissa + 1.0f);
  const float z = s * s;
  const float series = 2.0f + z * (0.66666667f + z * (0.4f + z * (0.28571429f + z * 0.22222222f)));
  return exponent * 0.69314718f + s * series;
}

/// sin and cos of 2 pi u for u in [0, 1), by folding to an eighth of a turn around the nearest
/// quarter.
void sine_cosine_of_turns(float u, float& sine, float& cosine) {
  const float turns = 4.0f * u;
  const auto quarter = static_cast<std::int32_t>(turns + 0.5f);
  const float angle = (turns - static_cast<float>(quarter)) * 1.57079633f;  // in [-pi/4, pi/4]
  const float z = angle * angle;
  const float s = angle * (1.0f + z * (-0.16666667f + z * (8.3333310e-3f + z * -1.9840874e-4f +
                                                           z * z * 2.7525562e-6f)));
  const float c =
      1.0f + z * (-0.5f + z * (4.1666667e-2f + z * (-1.3888889e-3f + z * 2.4801587e-5f)));
  const bool is_swapped = (quarter & 1) != 0;
  const float first = is_swapped ? c : s;
  const float second = is_swapped ? s : c;
  sine = (quarter & 2) != 0 ? -first : first;
  cosine = ((quarter + 1) & 2) != 0 ? -second : second;
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
      // 1 - u is in (0, 1], so the logarithm is finite.
      const float radius = __builtin_sqrtf(-2.0f * log_of(1.0f - to_unit(words.word[pair][i])));
      float sine = 0;
      float cosine = 0;
      sine_cosine_of_turns(to_unit(words.word[pair + 1][i]), sine, cosine);
      normals[pair][i] = radius * cosine;
      normals[pair + 1][i] = radius * sine;
    }
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::size_t word = 0; word < 4; ++word) out[4 * i + word] = normals[word][i];
  }
}

}  // namespace paceline::tensor

#pragma GCC pop_options
