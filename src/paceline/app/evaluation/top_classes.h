#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// A class that a sample was told as.
struct ToldClass {
  std::int64_t label = 0;
  std::string name;  ///< its number, if it has none
  double probability = 0;
};

/// The name of a class, or its number where it has none.
std::string name_of_class(std::span<const std::string> class_names, std::int64_t label);

/// Of each row of probabilities, [n, classes] in host memory, the `count` most probable classes (or
/// as many as there are), the most probable first; of equal ones the first.
std::vector<std::vector<ToldClass>> top_classes(const at::Tensor& probabilities, std::int64_t count,
                                                std::span<const std::string> class_names);

}  // namespace paceline::app
