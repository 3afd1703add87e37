#include "paceline/pretrained/weight_files.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnd = ".safetensors.index.json";
constexpr std::uint64_t kLongestJson = std::uint64_t{64} << 20;  // bytes

nlohmann::json read_json(const fs::path& path) {
  try {
    return base::parse_json(base::read_file(path, kLongestJson));
  } catch (const base::JsonError& error) {
    throw base::DataError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

bool holds_weights(const std::string& file) {
  constexpr std::array<std::string_view, 4> kEnds{".safetensors", ".bin", ".pth", ".pt"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return file.ends_with(end); });
}

/// The same weights as safetensors, as timm looks for them first.
std::string as_safetensors(const std::string& file) {
  return fs::path(file).replace_extension(".safetensors").string();
}

std::vector<std::string> usual_files(const std::string& named_by_config) {
  std::vector<std::string> files;
  if (!named_by_config.empty()) files = {as_safetensors(named_by_config), named_by_config};
  for (const char* usual :
       {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"})
    files.emplace_back(usual);
  return files;
}

std::vector<std::string> weight_files_in(std::span<const std::string> files) {
  std::vector<std::string> found;
  std::ranges::copy_if(files, std::back_inserter(found), holds_weights);
  return found;
}

}  // namespace

bool is_index(std::string_view file) { return file.ends_with(kIndexEnd); }

std::optional<std::string> choose_weight_file(std::span<const std::string> files,
                                              const std::string& named_by_config) {
  for (const std::string& wanted : usual_files(named_by_config))
    if (std::ranges::find(files, wanted) != files.end()) return wanted;
  const std::vector<std::string> others = weight_files_in(files);
  return others.size() == 1 ? std::optional(others.front()) : std::nullopt;
}

void refuse_repository(const std::string& where, std::span<const std::string> files,
                       const std::string& named_by_config) {
  const std::vector<std::string> others = weight_files_in(files);
  const std::vector<std::string> all(files.begin(), files.end());
  throw base::ConfigError(fmt::format(
      "model.pretrained: {} has none of {}; name the file behind a colon, as in {}:{}; there are: "
      "{}",
      where, base::join(usual_files(named_by_config), ", "), where,
      others.empty() ? "FILE" : others.front(),
      base::join_first(others.empty() ? all : others, 10)));
}

std::string weight_file_in_config(const fs::path& config) {
  const nlohmann::json json = read_json(config);
  if (!json.is_object()) return {};
  const auto text_in = [](const nlohmann::json& object) {
    const auto found = object.find("hf_hub_filename");
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto inner = json.find("pretrained_cfg");
  if (inner != json.end() && inner->is_object())
    if (std::string name = text_in(*inner); !name.empty()) return name;
  return text_in(json);
}

std::vector<std::string> shards_in_index(const fs::path& index) {
  const nlohmann::json json = read_json(index);
  std::set<std::string> names;
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map != json.end() && map->is_object()) {
    for (const auto& [tensor, file] : map->items()) {
      const std::string name = file.is_string() ? file.get<std::string>() : "";
      // Files lie beside their index; a path could lead anywhere.
      if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos)
        throw base::DataError(fmt::format("{}: '{}' is not the name of a file beside it",
                                          index.string(), base::excerpt(name)));
      names.insert(name);
    }
  }
  if (names.empty())
    throw base::DataError(
        fmt::format("{}: names no files: 'weight_map' is missing or empty", index.string()));
  return {names.begin(), names.end()};
}

std::string beside(const std::string& file, const std::string& other) {
  return (fs::path(file).parent_path() / other).string();
}

}  // namespace paceline::pretrained
