#include "paceline/app/evaluation/class_map.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"
#include "paceline/config/parse.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>

namespace paceline::app {
namespace {

constexpr std::size_t kMostNamed = 5;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// The number of a class that is named, or numbered.
class ClassNumbers {
 public:
  explicit ClassNumbers(std::span<const std::string> names) : names_(names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      numbers_.emplace(names[i], static_cast<std::int64_t>(i));
  }
  std::optional<std::int64_t> find(const std::string& text) const {
    if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
    const auto number = number_in(text);
    if (number && !names_.empty() && *number >= std::ssize(names_)) return std::nullopt;
    return number;
  }
  std::string describe() const { return base::join_first(names_, kMostNamed); }

 private:
  std::span<const std::string> names_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

std::int64_t model_class(const config::Node& node, const ClassNumbers& classes) {
  const auto found = node.is_scalar() ? classes.find(node.text) : std::nullopt;
  if (found) return *found;
  throw base::ConfigError(
      fmt::format("{}: {} is no class of the model; expected a name or a number of {}",
                  node.position.to_string(), node.describe(),
                  classes.describe().empty() ? "its outputs" : classes.describe()));
}

/// One class, or a list of some.
std::vector<std::int64_t> model_classes(const config::Node& node, const ClassNumbers& classes) {
  if (!node.is_list()) return {model_class(node, classes)};
  if (node.items.empty())
    throw base::ConfigError(
        fmt::format("{}: an empty list names no class of the model; name one or more, or leave the "
                    "class of the data out",
                    node.position.to_string()));
  std::vector<std::int64_t> found;
  for (const config::Node& item : node.items) found.push_back(model_class(item, classes));
  return found;
}

ClassMap of_list(const config::Node& list, std::span<const std::string> data_classes,
                 const ClassNumbers& model) {
  if (std::ssize(list.items) != std::ssize(data_classes))
    throw base::ConfigError(fmt::format(
        "{}: a list names the model's class for each of the data's, in their order: expected {}, "
        "got {}",
        list.position.to_string(), data_classes.size(), list.items.size()));
  ClassMap map{{data_classes.begin(), data_classes.end()}, {}};
  for (const config::Node& item : list.items)
    map.model_classes.push_back(model_classes(item, model));
  return map;
}

ClassMap of_entries(const config::Node& entries, std::span<const std::string> data_classes,
                    const ClassNumbers& model) {
  const ClassNumbers data(data_classes);
  ClassMap map;
  for (const config::MapEntry& entry : entries.entries) {
    const auto number = data.find(entry.key);
    const bool is_of_data = number && *number < std::ssize(data_classes);
    map.data_classes.push_back(is_of_data ? data_classes[static_cast<std::size_t>(*number)]
                                          : entry.key);
    map.model_classes.push_back(model_classes(entry.value, model));
  }
  return map;
}

template <class Value>
void refuse_twice(const std::vector<Value>& values, const std::filesystem::path& file,
                  std::string_view whose) {
  std::set<Value> seen;
  for (const Value& value : values) {
    if (!seen.insert(value).second)
      throw base::ConfigError(
          fmt::format("{}: class {} of {} stands in it twice", file.string(), value, whose));
  }
}

void require_all(const ClassMap& map, std::span<const std::string> data_classes,
                 const std::filesystem::path& file) {
  const std::set<std::string> known(map.data_classes.begin(), map.data_classes.end());
  std::vector<std::string> missing;
  for (const std::string& name : data_classes) {
    if (!known.contains(name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  throw base::ConfigError(
      fmt::format("{}: it does not say which classes of the model {} of the data are: add a line "
                  "NAME: CLASS for each",
                  file.string(), base::join_first(missing, kMostNamed)));
}

}  // namespace

ClassMap read_class_map(const std::filesystem::path& file,
                        std::span<const std::string> data_classes,
                        std::span<const std::string> model_classes) {
  // JSON is YAML, too.
  const config::Node node = config::parse_yaml(base::read_file(file), file.string());
  const ClassNumbers model(model_classes);
  if (!node.is_list() && !node.is_map())
    throw base::ConfigError(fmt::format(
        "{}: expected a map from classes of the data to those of the model, or a list of these, "
        "got {}",
        file.string(), node.describe()));
  ClassMap map =
      node.is_list() ? of_list(node, data_classes, model) : of_entries(node, data_classes, model);
  refuse_twice(map.data_classes, file, "the data");
  std::vector<std::int64_t> all_of_model;
  for (const auto& classes : map.model_classes)
    all_of_model.insert(all_of_model.end(), classes.begin(), classes.end());
  refuse_twice(all_of_model, file, "the model");
  require_all(map, data_classes, file);
  return map;
}

}  // namespace paceline::app
