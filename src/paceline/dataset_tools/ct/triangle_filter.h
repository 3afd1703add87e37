#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline::dataset_tools {

/// Which inputs one output is the mean of; none: it lies outside.
struct TriangleTaps {
  std::int64_t first = 0;
  std::vector<float> weights = {};
};

/// Of each output along an axis a mean under a triangle that reaches one value to both sides: one
/// of the inputs where values get denser, which is linear interpolation, or one of the outputs
/// where they get sparser, which keeps out what is too fine for them. At the inputs' ends the
/// triangle ends; outputs whose middle lies beyond are outside. `step`: from output to output, in
/// inputs; the middles of both axes coincide. Source: Pillow's and PyTorch's filter against
/// aliasing.
std::vector<TriangleTaps> triangle_taps(std::int64_t inputs, std::int64_t outputs, double step);

/// Of values [outer, inputs, inner] makes [outer, taps.size(), inner]; what is outside gets
/// `outside`.
std::vector<float> resample_axis(std::span<const float> values, std::size_t inputs,
                                 std::size_t inner, const std::vector<TriangleTaps>& taps,
                                 float outside);

}  // namespace paceline::dataset_tools
