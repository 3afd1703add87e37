#pragma once

#include "paceline/tensor/fwd.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace paceline::tensor {

/// What makes stored values fit a tensor of another shape.
struct Adaptation {
  std::function<at::Tensor(const at::Tensor& stored)> apply;  ///< needs the asked network no more
  std::string note;  ///< what it does, for the user: "resampled from 14x14 to 16x16"
};

/// Finds it for a tensor's name and the shape in which its values are stored; nothing if they can
/// not be made to fit.
using FindAdaptation = std::function<std::optional<Adaptation>(
    const std::string& name, std::span<const std::int64_t> stored)>;

}  // namespace paceline::tensor
