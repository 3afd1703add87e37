#include "paceline/app/recipe/local_path.h"

#include "paceline/base/home_path.h"
#include "paceline/data/storage/storage.h"
#include "paceline/pretrained/weight_source.h"

#include <filesystem>

namespace paceline::app {

std::string absolute_path(const std::string& text) {
  if (text.empty() || data::is_remote(text) || pretrained::is_weight_source(text)) return text;
  const std::string path = base::with_home(data::without_file_scheme(text));
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace paceline::app
