#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/data/dataset/dataset.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::cli {

/// What `paceline predict` is told of X-rays, which are seen by a network that makes volumes.
struct XrayRequest {
  std::map<double, std::filesystem::path> views = {};  ///< of one patient, by angle
  std::vector<std::filesystem::path> folders = {};     ///< of patients, where there are no views
  std::optional<double> fov_mm = {};                   ///< side of the cube; nothing: the data's
  bool flip_vertically = false;                        ///< the files show patients upside down
};

/// Takes the words VIEW=FILE (frontal=a.png) out of `words`. Throws ConfigError for a view that is
/// named twice and, where there are views, for one of another name.
std::map<double, std::filesystem::path> take_views(std::vector<std::string>& words);

/// Opens X-rays as the network of a recipe sees them, by what `paceline data prepare ct` made of
/// those that it was trained on. `warns`: whether it says what it had to assume. Throws ConfigError
/// for a network that sees no X-rays, DataError for files that cannot be read.
std::unique_ptr<data::Dataset> open_xrays(const XrayRequest& request, const app::Recipe& recipe,
                                          bool warns);

}  // namespace paceline::cli
