#include "paceline/config/resume.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/config/write.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::config {
namespace {

class Comparison {
 public:
  explicit Comparison(const Catalogs& catalogs) : catalogs_(catalogs) {}

  void compare_struct(const Node& before, const Node& after, const StructInfo& info,
                      const std::string& path) {
    Node own_before = before;
    Node own_after = after;
    if (const FieldInfo* choice = info.inline_field()) {
      if (!choice->may_change_on_resume()) {
        compare_component(without_fields(before, info), without_fields(after, info), *choice->type,
                          path);
      }
      own_before = only_fields(before, info);
      own_after = only_fields(after, info);
    }
    for (const MapEntry& entry : own_after.entries) {
      const FieldInfo* field = info.find(entry.key);
      if (field != nullptr && field->may_change_on_resume()) continue;
      const Node* old = own_before.find(entry.key);
      if (old == nullptr && field != nullptr) old = &field->default_value;
      compare(old, &entry.value, field != nullptr ? field->type.get() : nullptr,
              join_path(path, entry.key));
    }
    for (const MapEntry& entry : own_before.entries) {
      const FieldInfo* field = info.find(entry.key);
      const bool may_go = field != nullptr && field->may_change_on_resume();
      if (own_after.find(entry.key) == nullptr && !may_go) {
        compare(&entry.value, nullptr, nullptr, join_path(path, entry.key));
      }
    }
  }

  std::vector<ResumeDifference> differences;

 private:
  static Node only_fields(Node section, const StructInfo& info) {
    std::erase_if(section.entries, [&](auto& entry) { return info.find(entry.key) == nullptr; });
    return section;
  }
  static Node without_fields(Node section, const StructInfo& info) {
    std::erase_if(section.entries, [&](auto& entry) { return info.find(entry.key) != nullptr; });
    return section;
  }

  void compare(const Node* before, const Node* after, const TypeInfo* type,
               const std::string& path) {
    const bool are_sections =
        before != nullptr && after != nullptr && before->is_map() && after->is_map();
    if (are_sections && type != nullptr && type->kind == TypeKind::kStruct) {
      return compare_struct(*before, *after, *type->structure, path);
    }
    if (are_sections && type != nullptr && type->kind == TypeKind::kComponent) {
      return compare_component(*before, *after, *type, path);
    }
    if (are_sections && type != nullptr && type->kind == TypeKind::kMap) {
      return compare_map(*before, *after, *type, path);
    }
    if (before != nullptr && after != nullptr && same_value(*before, *after)) return;
    differences.push_back({path, before != nullptr ? to_flow_yaml(*before) : "absent",
                           after != nullptr ? to_flow_yaml(*after) : "absent"});
  }

  void compare_component(const Node& before, const Node& after, const TypeInfo& type,
                         const std::string& path) {
    const Node* name = after.find("name");
    const Node* old_name = before.find("name");
    if (name == nullptr || old_name == nullptr || !same_value(*name, *old_name)) {
      return compare(old_name, name, nullptr, join_path(path, "name"));
    }
    Node old_options = before;
    Node options = after;
    old_options.erase("name");
    options.erase("name");
    compare_options(old_options, options, type, name->text, path);
  }

  void compare_options(const Node& before, const Node& after, const TypeInfo& type,
                       const std::string& name, const std::string& path) {
    const auto catalog = catalogs_.find(type.component_kind);
    const ComponentEntry* entry =
        catalog != catalogs_.end() ? catalog->second->find(name) : nullptr;
    PACELINE_CHECK(entry != nullptr, "no catalog knows the {} '{}'", type.component_kind, name);
    compare_struct(before, after, *entry->info, path);
  }

  void compare_map(const Node& before, const Node& after, const TypeInfo& type,
                   const std::string& path) {
    for (const MapEntry& entry : after.entries) {
      const Node* old = before.find(entry.key);
      const std::string key = join_path(path, entry.key);
      if (old != nullptr && type.element->kind == TypeKind::kComponent) {
        compare_options(*old, entry.value, *type.element, entry.key, key);
      } else {
        compare(old, &entry.value, type.element.get(), key);
      }
    }
    for (const MapEntry& entry : before.entries) {
      if (after.find(entry.key) == nullptr) {
        compare(&entry.value, nullptr, nullptr, join_path(path, entry.key));
      }
    }
  }

  const Catalogs& catalogs_;
};

Node sorted(Node node) {
  for (Node& item : node.items) item = sorted(std::move(item));
  for (MapEntry& entry : node.entries) entry.value = sorted(std::move(entry.value));
  std::sort(node.entries.begin(), node.entries.end(),
            [](const MapEntry& left, const MapEntry& right) { return left.key < right.key; });
  return node;
}

}  // namespace

std::vector<ResumeDifference> resume_differences(const Node& before, const Node& after,
                                                 const StructInfo& info, const Catalogs& catalogs) {
  Comparison comparison(catalogs);
  comparison.compare_struct(before, after, info, "");
  return std::move(comparison.differences);
}

void check_resume(const Node& before, const Node& after, const StructInfo& info,
                  const Catalogs& catalogs) {
  const auto differences = resume_differences(before, after, info, catalogs);
  if (differences.empty()) return;
  std::string message = "the run cannot be resumed with another configuration:";
  for (const ResumeDifference& difference : differences) {
    message +=
        fmt::format("\n  {}: was {}, is {}", difference.key, difference.before, difference.after);
  }
  throw base::ConfigError(message + "\nPut these back, or start a new run.");
}

std::string config_hash(const Node& resolved) {
  return base::xxh3_128_hex(to_flow_yaml(sorted(resolved)));
}

}  // namespace paceline::config
