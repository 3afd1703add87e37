#pragma once

#include "paceline/base/philox.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/shared_code.h"

#include <bit>
#include <cstdint>
#include <limits>

// The loops of normal_blocks.cpp become vector code only at this level and where no operation may
// trap, for which these functions have to be compiled so, too.
#pragma GCC push_options
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")

namespace paceline::tensor {

/// base::Philox for code that GPUs compile: block number `block` of the stream of a sample at
/// `position`, by the `key` of all samples' streams, and number `draw` of the uniform() draws of
/// such a stream.
PACELINE_CODE_AND_TEXT(
    kPhiloxCode,
    struct PhiloxWords {
      unsigned int word0;
      unsigned int word1;
      unsigned int word2;
      unsigned int word3;
    };

    inline PhiloxWords philox_block(unsigned long long block, long long key, long long group,
                                    unsigned long long position) {
      const unsigned long long bits = static_cast<unsigned long long>(key);
      PhiloxWords words = {
          static_cast<unsigned int>(block), static_cast<unsigned int>(group),
          static_cast<unsigned int>(position),
          (static_cast<unsigned int>(position >> 32) << 16) ^
              static_cast<unsigned int>(static_cast<unsigned long long>(group) >> 32)};
      unsigned int key0 = static_cast<unsigned int>(bits);
      unsigned int key1 = static_cast<unsigned int>(bits >> 32);
      for (int round = 0; round < 10; ++round) {
        const unsigned long long product0 = 0xD2511F53ull * words.word0;
        const unsigned long long product1 = 0xCD9E8D57ull * words.word2;
        words.word0 = static_cast<unsigned int>(product1 >> 32) ^ words.word1 ^ key0;
        words.word1 = static_cast<unsigned int>(product1);
        words.word2 = static_cast<unsigned int>(product0 >> 32) ^ words.word3 ^ key1;
        words.word3 = static_cast<unsigned int>(product0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
      }
      return words;
    }

    inline double philox_uniform(unsigned long long draw, long long key, long long group,
                                 unsigned long long position) {
      const PhiloxWords words = philox_block(draw / 2, key, group, position);
      const unsigned long long high = draw % 2 == 0 ? words.word0 : words.word2;
      const unsigned long long low = draw % 2 == 0 ? words.word1 : words.word3;
      return static_cast<double>((high << 32 | low) >> 11) * 0x1.0p-53;
    })

/// What keep_mask() gives element number `element` of a tensor with `per_sample` elements of each
/// sample, T an integer: 1 if its Philox::uniform() is below `keep`, else 0. `key` is the key of
/// the samples' streams. GPUs compile it behind kPhiloxCode.
PACELINE_CODE_AND_TEXT(
    kKeepElementCode,
    template <typename T> T keep_element(T element, long long per_sample, long long key,
                                         long long group, long long first_position, double keep) {
      const unsigned long long position =
          static_cast<unsigned long long>(first_position + element / per_sample);
      const unsigned long long draw = static_cast<unsigned long long>(element % per_sample);
      return philox_uniform(draw, key, group, position) < keep ? 1 : 0;
    })

// Arithmetic that rounds after each operation, by which both get the same bits: a GPU's compiler
// would make one operation of a product and a sum.
inline float rounded_product(float a, float b) { return a * b; }
inline float rounded_quotient(float a, float b) { return a / b; }
inline float rounded_root(float a) { return __builtin_sqrtf(a); }
inline int bits_of(float a) { return std::bit_cast<int>(a); }
inline float float_of(int bits) { return std::bit_cast<float>(bits); }

/// The same for a GPU.
inline constexpr const char* kRoundedArithmeticCode = R"(
inline float rounded_product(float a, float b) { return __fmul_rn(a, b); }
inline float rounded_quotient(float a, float b) { return __fdiv_rn(a, b); }
inline float rounded_root(float a) { return __fsqrt_rn(a); }
inline int bits_of(float a) { return __float_as_int(a); }
inline float float_of(int bits) { return __int_as_float(bits); }
)";

/// Standard normal draws by Box and Muller from pairs of Philox's words: natural logarithm of x in
/// (0, 1], the exponent and atanh's series on the mantissa; sine and cosine of 2 pi u for u in [0,
/// 1), by folding to an eighth of a turn around the nearest quarter. Without a library, so that
/// words give the same bits on every machine, and on GPUs.
PACELINE_CODE_AND_TEXT(
    kNormalCode,
    inline float to_unit(unsigned int word) {
      return rounded_product(static_cast<float>(static_cast<int>(word >> 8)), 0x1p-24f);
    }

    inline float log_of(float x) {
      // The mantissa is brought to [sqrt(1/2), sqrt(2)), where the series converges fastest.
      const unsigned int shifted = static_cast<unsigned int>(bits_of(x)) - 0x3f3504f3u;
      const float exponent = static_cast<float>(static_cast<int>(shifted) >> 23);
      const float mantissa = float_of(static_cast<int>((shifted & 0x007fffffu) + 0x3f3504f3u));
      const float s = rounded_quotient(mantissa - 1.0f, mantissa + 1.0f);
      const float z = rounded_product(s, s);
      float series = 0.28571429f + rounded_product(z, 0.22222222f);
      series = 0.4f + rounded_product(z, series);
      series = 0.66666667f + rounded_product(z, series);
      series = 2.0f + rounded_product(z, series);
      return rounded_product(exponent, 0.69314718f) + rounded_product(s, series);
    }

    inline void sine_cosine_of_turns(float u, float& sine, float& cosine) {
      const float turns = rounded_product(4.0f, u);
      const int quarter = static_cast<int>(turns + 0.5f);
      const float angle = rounded_product(turns - static_cast<float>(quarter), 1.57079633f);
      const float z = rounded_product(angle, angle);
      float s = 8.3333310e-3f + rounded_product(z, -1.9840874e-4f);
      s = s + rounded_product(rounded_product(z, z), 2.7525562e-6f);
      s = rounded_product(angle, 1.0f + rounded_product(z, -0.16666667f + rounded_product(z, s)));
      float c = -1.3888889e-3f + rounded_product(z, 2.4801587e-5f);
      c = 4.1666667e-2f + rounded_product(z, c);
      c = 1.0f + rounded_product(z, -0.5f + rounded_product(z, c));
      const bool is_swapped = (quarter & 1) != 0;
      const float first = is_swapped ? c : s;
      const float second = is_swapped ? s : c;
      sine = (quarter & 2) != 0 ? -first : first;
      cosine = ((quarter + 1) & 2) != 0 ? -second : second;
    }

    inline void normals_of_words(unsigned int word0, unsigned int word1, float& first,
                                 float& second) {
      // 1 - u is in (0, 1], so the logarithm is finite.
      const float radius = rounded_root(rounded_product(-2.0f, log_of(1.0f - to_unit(word0))));
      float sine = 0;
      float cosine = 0;
      sine_cosine_of_turns(to_unit(word1), sine, cosine);
      first = rounded_product(radius, cosine);
      second = rounded_product(radius, sine);
    })

/// What normal_samples() gives element number `element` of a tensor with `per_sample` elements of
/// each sample, by its bits; T is an integer. GPUs compile it behind the texts above.
PACELINE_CODE_AND_TEXT(
    kNormalElementCode,
    template <typename T> T normal_element(T element, long long per_sample, long long key,
                                           long long group, long long first_position) {
      const unsigned long long position =
          static_cast<unsigned long long>(first_position + element / static_cast<T>(per_sample));
      const unsigned int draw = static_cast<unsigned int>(element % static_cast<T>(per_sample));
      const PhiloxWords words = philox_block(draw / 4, key, group, position);
      const bool is_upper = draw % 4 >= 2;
      float first = 0;
      float second = 0;
      normals_of_words(is_upper ? words.word2 : words.word0, is_upper ? words.word3 : words.word1,
                       first, second);
      return bits_of(draw % 2 == 0 ? first : second);
    })

/// The same of uniform_samples(): sample number `sample`.
PACELINE_CODE_AND_TEXT(
    kUniformElementCode,
    template <typename T>
    T uniform_element(T sample, long long key, long long group, long long first_position) {
      const unsigned long long position = static_cast<unsigned long long>(first_position + sample);
      // Of 53 bits, as a whole number.
      return static_cast<T>(philox_uniform(0, key, group, position) * 0x1.0p53);
    })

}  // namespace paceline::tensor

#pragma GCC pop_options

namespace paceline::tensor {

// What whoever runs this code gives it.

/// The `key` of a purpose's streams.
inline std::int64_t bits_of_key(std::uint64_t seed, base::DrawPurpose purpose) {
  const base::Philox::Counter counter = base::Philox(seed, purpose, 0, 0).counter(0);
  return static_cast<std::int64_t>(std::uint64_t{counter.key1} << 32 | counter.key0);
}

/// The number of each element of `like`, beside it, of the narrowest type that has room: int32 or
/// int64 [elements].
inline at::Tensor element_numbers(const at::Tensor& like) {
  const bool is_small = like.numel() <= std::numeric_limits<std::int32_t>::max();
  return at::arange(like.numel(), like.options().dtype(is_small ? at::kInt : at::kLong));
}

}  // namespace paceline::tensor
