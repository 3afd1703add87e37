#include "paceline/config/load.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/config/merge.h"
#include "paceline/config/override.h"
#include "paceline/config/parse.h"
#include "paceline/config/variables.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fmt/format.h>

namespace paceline::config {
namespace {

namespace fs = std::filesystem;

std::vector<Node> bases_of(const Node& recipe) {
  const Node* extends = recipe.find("extends");
  if (extends == nullptr || extends->is_null()) return {};
  std::vector<Node> bases = extends->is_list() ? extends->items : std::vector<Node>{*extends};
  for (const Node& base : bases) {
    if (!base.is_scalar()) {
      throw base::ConfigError(fmt::format("{}: extends: must be a file or a list of files, got {}",
                                          extends->position.to_string(), extends->describe()));
    }
  }
  return bases;
}

/// Reads a file and what it extends. Two files that extend each other's parents twice are read
/// again each time, so their number is bounded.
class Loader {
 public:
  explicit Loader(const StructInfo& info) : info_(info) {}

  Node load(const fs::path& path) {
    chain_.push_back(canonical(path));
    const Node recipe = parse_file(path);
    Node merged = Node::map();
    for (const Node& base : bases_of(recipe)) merged = merge(merged, load_base(path, base), info_);
    merged = merge(merged, recipe, info_);
    merged.erase("extends");
    chain_.pop_back();
    return merged;
  }

 private:
  Node load_base(const fs::path& path, const Node& base) {
    const fs::path base_path = (path.parent_path() / base.text).lexically_normal();
    const auto refuse = [&](std::string_view why) {
      throw base::ConfigError(fmt::format("{}: extends: {}", base.position.to_string(), why));
    };
    if (++num_bases_ > kMostBases) {
      refuse(
          fmt::format("more than {} files, counted as often as they are extended; name each "
                      "once",
                      kMostBases));
    }
    if (std::find(chain_.begin(), chain_.end(), canonical(base_path)) != chain_.end()) {
      refuse(fmt::format("{} extends itself in a circle; remove this line", base_path.string()));
    }
    // The name of a file that cannot be read is not where the mistake is.
    std::error_code error;
    const fs::file_status status = fs::status(base_path, error);
    if (!fs::exists(status)) {
      refuse(base::FileError("read", base_path, error ? error.value() : ENOENT).what());
    }
    if (!fs::is_regular_file(status)) {
      refuse(base_path.string() + " is no regular file, which a recipe must be");
    }
    return load(base_path);
  }

  static fs::path canonical(const fs::path& path) {
    std::error_code ignored;  // who cannot be read says so when it is read
    return fs::weakly_canonical(path, ignored);
  }

  static constexpr int kMostBases = 100;

  const StructInfo& info_;
  std::vector<fs::path> chain_;  ///< the files that led here
  int num_bases_ = 0;
};

}  // namespace

Node load_recipe(const fs::path& path, const Overrides& overrides, const StructInfo& info,
                 Problems& problems) {
  Node recipe = Loader(info).load(path);
  override_recipe(recipe, overrides, info, problems);
  return recipe;
}

void override_recipe(Node& recipe, const Overrides& overrides, const StructInfo& info,
                     Problems& problems) {
  apply_overrides(recipe, overrides.of_user, info, problems);
  apply_overrides(recipe, overrides.on_top, info, problems);
  expand_variables(recipe, problems);
}

}  // namespace paceline::config
