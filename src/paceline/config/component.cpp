#include "paceline/config/component.h"

#include "paceline/base/error.h"

namespace paceline::config {

void Component::check_is(const StructInfo& expected) const {
  PACELINE_CHECK(info != nullptr && options != nullptr,
                 "component '{}' has no options yet: bind it first", name);
  PACELINE_CHECK(info == &expected, "component '{}' has options of '{}', not of '{}'", name,
                 info->name, expected.name);
}

const ComponentEntry* ComponentCatalog::find(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? nullptr : &entry->second;
}

std::vector<std::string> ComponentCatalog::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

void ComponentCatalog::add_entry(ComponentEntry entry) {
  std::string name = entry.name;
  PACELINE_CHECK(!name.empty(), "a {} needs a name", kind_);
  const bool is_new = entries_.emplace(name, std::move(entry)).second;
  PACELINE_CHECK(is_new, "{} '{}' is registered twice", kind_, name);
}

}  // namespace paceline::config
