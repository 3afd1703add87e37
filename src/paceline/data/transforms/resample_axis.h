#pragma once

#include "paceline/data/transforms/interpolation.h"

#include <cstdint>
#include <vector>

namespace paceline::data {

/// Pillow's resampling along one axis: which inputs each output sums, and their weights as
/// fixed-point numbers of 22 bits. By Interpolation::kNearest it is one input of weight 1.
struct ResampleAxis {
  static constexpr int kPrecisionBits = 22;
  static constexpr int kLowBits = 11;
  /// SIMD code takes inputs and outputs by fours; the tables go on with weights of zero.
  static constexpr int kGroup = 4;

  int outputs = 0;
  int taps = 0;                       ///< weights per output, a multiple of kGroup
  std::vector<int> first;             ///< per output: its first input
  std::vector<int> count;             ///< per output: how many inputs have a weight
  std::vector<std::int32_t> weights;  ///< [outputs, taps]
  /// weight = high * 2^11 + low, so that 16-bit multiply-adds give the exact 32-bit sum.
  std::vector<std::int16_t> high;
  std::vector<std::int16_t> low;

  /// Outputs from `begin` up to `end`, or inputs.
  struct Range {
    int begin = 0;
    int end = 0;
  };

  /// Fills the tables; allocates only while they grow.
  void prepare(int input_size, int output_size, Interpolation interpolation) {
    prepare(input_size, output_size, interpolation, {0, output_size});
  }
  /// The same for some of the outputs, which are `outputs` then: the first one is number 0.
  void prepare(int input_size, int output_size, Interpolation interpolation, const Range& wanted);

  /// The inputs that the outputs sum.
  Range inputs() const;
  /// Counts inputs from number `begin` on, before which none is used.
  void count_inputs_from(int begin);

 private:
  std::vector<double> exact_;
  void make_room(int most_inputs);
  void take_nearest(double scale, int input_size, const Range& wanted);
  void set_weights(int output);
};

}  // namespace paceline::data
