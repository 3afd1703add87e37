#include "paceline/parallel/squares.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace paceline::parallel {
namespace {

constexpr std::int64_t kRunElements = 16'384;
constexpr std::int64_t kRunsWorthAThread = 2;

/// Adds the squares of `size` elements to as many lanes as there are, in turn.
template <class T, std::size_t kLanes>
void add_squares(const T* values, std::int64_t size, std::array<T, kLanes>& lanes) {
  constexpr auto kStep = static_cast<std::int64_t>(kLanes);
  std::int64_t at = 0;
  for (; at + kStep <= size; at += kStep) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const T value = values[at + static_cast<std::int64_t>(lane)];
      lanes[lane] = std::fma(value, value, lanes[lane]);
    }
  }
  for (std::size_t lane = 0; at < size; ++at, ++lane)
    lanes[lane] = std::fma(values[at], values[at], lanes[lane]);
}

template <class T, std::size_t kLanes>
double sum_of(const std::array<T, kLanes>& lanes) {
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

/// A whole run from four places at once, as a core reads four streams faster than one.
template <class T>
[[gnu::optimize("O3")]]  // or it is not vectorised
double
squares_of_whole_run(const T* values) {
  constexpr std::size_t kStreams = 4;
  constexpr std::int64_t kLanes = 16;
  constexpr std::int64_t kStreamElements = kRunElements / kStreams;
  std::array<std::array<T, kLanes>, kStreams> lanes{};
  for (std::int64_t at = 0; at < kStreamElements; at += kLanes) {
    for (std::size_t stream = 0; stream < kStreams; ++stream)
      add_squares(values + static_cast<std::int64_t>(stream) * kStreamElements + at, kLanes,
                  lanes[stream]);
  }
  double sum = 0;
  for (const auto& of_stream : lanes) sum += sum_of(of_stream);
  return sum;
}

template <class T>
[[gnu::optimize("O3")]] double squares_of_part(const T* values, std::int64_t size) {
  std::array<T, 64> lanes{};
  add_squares(values, size, lanes);
  return sum_of(lanes);
}

template <class T>
double squares_of(const T* values, std::int64_t size) {
  const std::int64_t num_runs = (size + kRunElements - 1) / kRunElements;
  const auto sum_of_run = [&](std::int64_t run) {
    const std::int64_t begin = run * kRunElements;
    return size - begin >= kRunElements ? squares_of_whole_run(values + begin)
                                        : squares_of_part(values + begin, size - begin);
  };
  if (num_runs == 1) return sum_of_run(0);
  std::vector<double> sums(static_cast<std::size_t>(num_runs));
  at::parallel_for(0, num_runs, kRunsWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t run = begin; run < end; ++run)
      sums[static_cast<std::size_t>(run)] = sum_of_run(run);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template <class T>
[[gnu::optimize("O3")]] std::array<double, 2> squares_of_two_rows(const T* first, const T* second,
                                                                  std::int64_t size) {
  constexpr std::int64_t kLanes = 32;
  std::array<double, 2> sums{};
  for (std::int64_t begin = 0; begin < size; begin += kRunElements) {
    const std::int64_t end = std::min(size, begin + kRunElements);
    std::array<T, kLanes> of_first{}, of_second{};
    std::int64_t at = begin;
    for (; at + kLanes <= end; at += kLanes) {
      add_squares(first + at, kLanes, of_first);
      add_squares(second + at, kLanes, of_second);
    }
    add_squares(first + at, end - at, of_first);
    add_squares(second + at, end - at, of_second);
    sums[0] += sum_of(of_first);
    sums[1] += sum_of(of_second);
  }
  return sums;
}

/// Calls function(pointer to the element at `begin`).
template <class Function>
void with_values(const at::Tensor& dense, std::int64_t begin, std::int64_t end,
                 const Function& function) {
  PACELINE_CHECK(dense.is_cpu() && dense.is_non_overlapping_and_dense(),
                 "squares of a tensor that is on a device or has gaps");
  PACELINE_CHECK(begin >= 0 && begin <= end && end <= dense.numel(), "elements {} to {} of {}",
                 begin, end, dense.numel());
  switch (dense.scalar_type()) {
    case at::kFloat:
      return function(dense.const_data_ptr<float>() + begin);
    case at::kDouble:
      return function(dense.const_data_ptr<double>() + begin);
    default: {
      const at::Tensor floats =
          dense.as_strided({end - begin}, {1}, dense.storage_offset() + begin).to(at::kFloat);
      function(floats.const_data_ptr<float>());
    }
  }
}

}  // namespace

double sum_of_squares(const at::Tensor& dense, std::int64_t begin, std::int64_t end) {
  double sum = 0;
  if (begin == end) return sum;
  with_values(dense, begin, end,
              [&](const auto* values) { sum = squares_of(values, end - begin); });
  return sum;
}

std::array<double, 2> squares_of_two(const float* first, const float* second, std::int64_t size) {
  return squares_of_two_rows(first, second, size);
}

std::array<double, 2> squares_of_two(const double* first, const double* second, std::int64_t size) {
  return squares_of_two_rows(first, second, size);
}

}  // namespace paceline::parallel
