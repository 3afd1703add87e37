#include "paceline/data/transforms/resize.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace paceline::data {
namespace {

/// Lets the dispatcher choose among these instruction sets only.
void choose_targets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

class ResizeSimd : public testing::TestWithParam<Interpolation> {
 protected:
  void TearDown() override { choose_targets(0); }
};

// Sums of integers: every instruction set must give the plain code's bytes.
TEST_P(ResizeSimd, EqualsThePlainCodeOnEveryInstructionSet) {
  const std::int64_t available = hwy::SupportedTargets();
  std::mt19937 random(7);
  const auto up_to = [&](unsigned bound) { return static_cast<int>(1 + random() % bound); };
  for (const std::int64_t target : {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}, available}) {
    if ((available & target) == 0) continue;
    choose_targets(target & available);
    for (int i = 0; i < 120; ++i) {
      const NoiseImage image({up_to(40), up_to(i % 10 == 0 ? 600 : 60)},
                             static_cast<unsigned>(random()));
      const int outputs = up_to(70);
      const std::ptrdiff_t row_stride = padded_stride(outputs);
      const std::ptrdiff_t column_stride = padded_stride(image.view.size.width);
      ResampleAxis axis;
      PixelBuffer fast;
      PixelBuffer plain;

      axis.prepare(image.view.size.width, outputs, GetParam());
      const std::size_t row_bytes = static_cast<std::size_t>(row_stride * image.view.size.height);
      resize_rows(image.view, axis, fast.reserve(row_bytes), row_stride);
      resize_rows_scalar(image.view, axis, plain.reserve(row_bytes), row_stride);
      const ImageSize narrowed = {image.view.size.height, outputs};
      ASSERT_EQ(packed({fast.data(), narrowed, row_stride}),
                packed({plain.data(), narrowed, row_stride}))
          << image.view.size.width << " to " << outputs << " columns, " << hwy::TargetName(target);

      axis.prepare(image.view.size.height, outputs, GetParam());
      const std::size_t column_bytes = static_cast<std::size_t>(column_stride * outputs);
      resize_columns(image.view, axis, fast.reserve(column_bytes), column_stride);
      resize_columns_scalar(image.view, axis, plain.reserve(column_bytes), column_stride);
      const ImageSize lowered = {outputs, image.view.size.width};
      ASSERT_EQ(packed({fast.data(), lowered, column_stride}),
                packed({plain.data(), lowered, column_stride}))
          << image.view.size.height << " to " << outputs << " rows, " << hwy::TargetName(target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, ResizeSimd,
                         testing::Values(Interpolation::kNearest, Interpolation::kBilinear,
                                         Interpolation::kBicubic, Interpolation::kLanczos));

}  // namespace
}  // namespace paceline::data
