#include "paceline/data/transforms/kernels/perspective_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace paceline::data {
namespace {

constexpr std::size_t kUnknowns = 8;
/// Coefficients of the unknowns, then what they add up to.
using Equation = std::array<double, kUnknowns + 1>;
using Equations = std::array<Equation, kUnknowns>;

Equations equations_of(const Corners& from, const Corners& ends) {
  Equations equations;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double x = ends[i][0];
    const double y = ends[i][1];
    const double column = from[i][0];
    const double row = from[i][1];
    equations[2 * i] = {x, y, 1, 0, 0, 0, -column * x, -column * y, column};
    equations[2 * i + 1] = {0, 0, 0, x, y, 1, -row * x, -row * y, row};
  }
  return equations;
}

/// Gauss and Jordan's elimination by the largest pivots; false if there is no single solution.
bool solve(Equations& equations) {
  for (std::size_t pivot = 0; pivot < kUnknowns; ++pivot) {
    const auto size_of = [&](const Equation& equation) { return std::abs(equation[pivot]); };
    const auto largest =
        std::ranges::max_element(equations.begin() + pivot, equations.end(), {}, size_of);
    if (size_of(*largest) < 1e-9) return false;
    std::swap(*largest, equations[pivot]);
    for (std::size_t other = 0; other < kUnknowns; ++other) {
      if (other == pivot) continue;
      const double share = equations[other][pivot] / equations[pivot][pivot];
      for (std::size_t i = pivot; i <= kUnknowns; ++i)
        equations[other][i] -= share * equations[pivot][i];
    }
  }
  return true;
}

}  // namespace

std::optional<PerspectiveMatrix> perspective_matrix(ImageSize size, const Corners& ends) {
  const int right = size.width - 1;
  const int bottom = size.height - 1;
  Equations equations = equations_of({{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}}, ends);
  if (!solve(equations)) return std::nullopt;
  PerspectiveMatrix matrix;
  for (std::size_t i = 0; i < kUnknowns; ++i)
    matrix[i] = static_cast<float>(equations[i][kUnknowns] / equations[i][i]);
  return matrix;
}

}  // namespace paceline::data
