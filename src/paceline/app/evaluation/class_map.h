#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// Which of a model's classes those of other data are.
struct ClassMap {
  std::vector<std::string> data_classes;  ///< names, by the label that the samples get
  /// Outputs of the model, likewise: one or more of each, all different.
  std::vector<std::vector<std::int64_t>> model_classes;
};

/// Reads a class map, YAML or JSON: a map from the data's classes to the model's,
/// {n01498041: 6, n01531178: hen, dog: [151, 152]}, or a list of the model's classes for the data's
/// in their order, where a list stands for several. Classes go by their names, and by their numbers
/// where no class has such a name. Classes that the data at hand lack keep their places, as they
/// compete with the others. Throws ConfigError for a class of the data that is not in it, one that
/// the model has not got, and one named twice.
ClassMap read_class_map(const std::filesystem::path& file,
                        std::span<const std::string> data_classes,
                        std::span<const std::string> model_classes);

}  // namespace paceline::app
