#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <array>
#include <optional>

namespace paceline::data {

/// Columns and rows of the top left, top right, bottom right and bottom left pixel.
using Corners = std::array<std::array<int, 2>, 4>;

/// torchvision's coefficients, float32 numbers, that bring the corners of an image of this size to
/// `ends`; empty where three of them lie on a line, so that there are none.
std::optional<PerspectiveMatrix> perspective_matrix(ImageSize size, const Corners& ends);

}  // namespace paceline::data
