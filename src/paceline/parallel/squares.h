#pragma once

#include "paceline/tensor/fwd.h"

#include <array>
#include <cstdint>

namespace paceline::parallel {

// Squares are summed in their own type, in lanes, over runs of at most 16384 elements, which keeps
// the error of float32 below 1e-6 however many there are, and in float64 over the runs. The same
// bits whatever the number of threads, and wherever elements lie.

/// The sum of squares of elements [begin, end), in the order of memory, of a tensor on the host
/// that lies without gaps. Of types shorter than float32 as of float32.
double sum_of_squares(const at::Tensor& dense, std::int64_t begin, std::int64_t end);

/// The sums of squares of two rows of one length, in one pass over both, which a core reads faster
/// than one after the other.
std::array<double, 2> squares_of_two(const float* first, const float* second, std::int64_t size);
std::array<double, 2> squares_of_two(const double* first, const double* second, std::int64_t size);

}  // namespace paceline::parallel
