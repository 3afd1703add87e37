#include "paceline/config/resume.h"

#include "paceline/base/error.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <memory>

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
      const Allowance allowance(*this, choice);
      compare_component(without_fields(before, info), without_fields(after, info), *choice->type,
                        path);
      own_before = only_fields(before, info);
      own_after = only_fields(after, info);
    }
    for (const MapEntry& entry : own_after.entries) {
      const FieldInfo* field = info.find(entry.key);
      const Allowance allowance(*this, field);
      const Node* old = own_before.find(entry.key);
      if (old == nullptr && field != nullptr) old = &field->default_value;
      compare(old, &entry.value, field != nullptr ? field->type.get() : nullptr,
              join_path(path, entry.key));
    }
    for (const MapEntry& entry : own_before.entries) {
      if (own_after.find(entry.key) != nullptr) continue;
      const Allowance allowance(*this, info.find(entry.key));
      compare(&entry.value, nullptr, nullptr, join_path(path, entry.key));
    }
  }

  std::vector<ResumeDifference> differences;

 private:
  /// While it lives, what differs is allowed to if the field may change on resume.
  class Allowance {
   public:
    Allowance(Comparison& comparison, const FieldInfo* field)
        : comparison_(comparison), before_(comparison.is_allowed_) {
      if (field != nullptr && field->may_change_on_resume()) comparison.is_allowed_ = true;
    }
    ~Allowance() { comparison_.is_allowed_ = before_; }
    Allowance(const Allowance&) = delete;
    Allowance& operator=(const Allowance&) = delete;

   private:
    Comparison& comparison_;
    bool before_;
  };

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
                           after != nullptr ? to_flow_yaml(*after) : "absent", is_allowed_});
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
    // A key that an older version did not know had the component's default, which need not be that
    // of the struct that it shares with others.
    Node known = before;
    const std::shared_ptr<const void> object = entry->make();
    for (const MapEntry& option : to_node(*entry->info, object.get()).entries) {
      if (known.find(option.key) == nullptr && after.find(option.key) != nullptr)
        known.set(option.key, option.value);
    }
    compare_struct(known, after, *entry->info, path);
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
  bool is_allowed_ = false;
};

}  // namespace

std::vector<ResumeDifference> resume_differences(const Node& before, const Node& after,
                                                 const StructInfo& info, const Catalogs& catalogs) {
  Comparison comparison(catalogs);
  comparison.compare_struct(before, after, info, "");
  return std::move(comparison.differences);
}

std::vector<std::string> check_resume(const Node& before, const Node& after, const StructInfo& info,
                                      const Catalogs& catalogs) {
  std::string refused;
  std::vector<std::string> allowed;
  for (const ResumeDifference& difference : resume_differences(before, after, info, catalogs)) {
    std::string line =
        fmt::format("{}: was {}, is {}", difference.key, difference.before, difference.after);
    if (difference.is_allowed) {
      allowed.push_back(std::move(line));
    } else {
      refused += "\n  " + line;
    }
  }
  if (refused.empty()) return allowed;
  throw base::ConfigError(
      fmt::format("the run cannot be resumed with another configuration:{}\nPut these back, or "
                  "start a new run from its weights: model.pretrained=RUN@best (or @last) and "
                  "another --run-dir",
                  refused));
}

}  // namespace paceline::config
