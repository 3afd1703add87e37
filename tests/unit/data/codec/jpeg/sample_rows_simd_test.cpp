#include "paceline/data/codec/jpeg/sample_rows.h"
#include "support/data/instruction_sets.h"

#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes random_samples(int count, std::mt19937& random) {
  Bytes samples(static_cast<std::size_t>(count + 2 * kRowPadding));
  for (std::uint8_t& sample : samples) sample = static_cast<std::uint8_t>(random());
  return samples;
}

/// What `write` makes of a row of `count` bytes.
Bytes written(int count, const std::function<void(std::uint8_t*)>& write) {
  Bytes target(static_cast<std::size_t>(count + 3 * kRowPadding));
  write(target.data());
  target.resize(static_cast<std::size_t>(count));
  return target;
}

TEST(VectorSampleRows, AreUpsampledAsByTheScalarCode) {
  for_each_instruction_set([] {
    std::mt19937 random(4);
    for (int count = 1; count < 300; ++count) {
      const Bytes near = random_samples(count, random);
      const Bytes far = random_samples(count, random);
      const std::uint8_t* a = near.data() + 1;
      const std::uint8_t* b = far.data() + 1;
      for (const Rounding rounding : {Rounding::kDown, Rounding::kUp}) {
        ASSERT_EQ(written(count, [&](auto* target) { blend_rows(a, b, count, rounding, target); }),
                  written(count,
                          [&](auto* target) { blend_rows_scalar(a, b, count, rounding, target); }));
      }
      ASSERT_EQ(written(2 * count, [&](auto* target) { widen_row(a, count, target); }),
                written(2 * count, [&](auto* target) { widen_row_scalar(a, count, target); }));
      ASSERT_EQ(
          written(2 * count, [&](auto* target) { widen_blended_row(a, b, count, target); }),
          written(2 * count, [&](auto* target) { widen_blended_row_scalar(a, b, count, target); }));
    }
  });
}

// All pairs of samples, since the vector code rounds twice instead of adding up.
TEST(VectorSampleRows, AreBlendedExactly) {
  Bytes near;
  Bytes far;
  for (int i = 0; i < 256 * 256; ++i) {
    near.push_back(static_cast<std::uint8_t>(i / 256));
    far.push_back(static_cast<std::uint8_t>(i % 256));
  }
  for_each_instruction_set([&] {
    for (const Rounding rounding : {Rounding::kDown, Rounding::kUp}) {
      ASSERT_EQ(
          written(65536,
                  [&](auto* out) { blend_rows(near.data(), far.data(), 65536, rounding, out); }),
          written(65536, [&](auto* out) {
            blend_rows_scalar(near.data(), far.data(), 65536, rounding, out);
          }));
    }
  });
}

// Each pair of chroma samples with several luma samples.
TEST(VectorSampleRows, AreConvertedAsByTheScalarCode) {
  constexpr int kCount = 65536;
  Bytes cb;
  Bytes cr;
  for (int i = 0; i < kCount; ++i) {
    cb.push_back(static_cast<std::uint8_t>(i / 256));
    cr.push_back(static_cast<std::uint8_t>(i % 256));
  }
  for_each_instruction_set([&] {
    std::mt19937 random(6);
    for (int round = 0; round < 4; ++round) {
      Bytes y = random_samples(kCount, random);
      if (round < 2) std::fill(y.begin(), y.end(), round == 0 ? 0 : 255);
      ASSERT_EQ(
          written(3 * kCount,
                  [&](auto* rgb) { convert_ycc_row(y.data(), cb.data(), cr.data(), kCount, rgb); }),
          written(3 * kCount, [&](auto* rgb) {
            convert_ycc_row_scalar(y.data(), cb.data(), cr.data(), kCount, rgb);
          }));
    }
    for (int count = 1; count < 200; ++count) {
      const Bytes y = random_samples(count, random);
      const Bytes rgb =
          written(3 * count, [&](auto* target) { convert_gray_row(y.data(), count, target); });
      for (std::size_t i = 0; i < rgb.size(); ++i) ASSERT_EQ(rgb[i], y[i / 3]);
    }
  });
}

}  // namespace
}  // namespace paceline::data::jpeg
