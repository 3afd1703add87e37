#include "paceline/app/prediction/image_arguments.h"

#include "paceline/app/recipe/recipe.h"
#include "paceline/data/index/image_listing.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace paceline::app {
namespace {

/// "optimizer" of "++optimizer.lr=0.1".
std::string_view section_of(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of("+~"), word.size()));
  return word.substr(0, word.find_first_of(".="));
}

bool is_override(const std::string& word) {
  std::error_code unknown;
  if (std::filesystem::exists(word, unknown)) return false;
  const bool has_value = word.find('=') != std::string::npos;
  const bool has_sign = word.starts_with('+') || word.starts_with('~');
  if (!has_value && !has_sign) return false;
  return config::describe<Recipe>().find(section_of(word)) != nullptr ||
         (has_value && !data::is_image_name(word));
}

}  // namespace

ImageArguments tell_images_from_overrides(std::span<const std::string> words) {
  ImageArguments arguments;
  for (const std::string& word : words)
    (is_override(word) ? arguments.overrides : arguments.images).push_back(word);
  return arguments;
}

}  // namespace paceline::app
