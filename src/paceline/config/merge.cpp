#include "paceline/config/merge.h"

#include <utility>

namespace paceline::config {
namespace {

// How merging sees a value: the schema of a struct, a choice of component, or neither.
struct MergeRule {
  const StructInfo* info = nullptr;
  const FieldInfo* choice = nullptr;  // the field that holds the component, inline or not
};

MergeRule rule_of(const FieldInfo* field) {
  if (field == nullptr) return {};
  return {field->type->structure, choice_of(*field)};
}

std::string chosen_name(const Node& section, const FieldInfo& choice) {
  const Node* name = section.find("name");
  if (name == nullptr) name = choice.default_value.find("name");
  return name != nullptr ? name->text : "";
}

// Removes what belongs to the component that `section` picked before.
void drop_component(Node& section, const StructInfo* info) {
  std::erase_if(section.entries, [&](const MapEntry& entry) {
    return info == nullptr || info->find(entry.key) == nullptr;
  });
}

Node merge_values(Node base, const Node& written, const MergeRule& rule) {
  Node over = written;
  if (rule.choice != nullptr) {
    base = as_section(base);
    over = as_section(over);
  }
  if (!base.is_map() || !over.is_map()) return over;
  if (rule.choice != nullptr && over.find("name") != nullptr &&
      chosen_name(base, *rule.choice) != over.find("name")->text) {
    drop_component(base, rule.info);
  }
  base.position = over.position;
  for (const MapEntry& entry : over.entries) {
    const FieldInfo* field = rule.info != nullptr ? rule.info->find(entry.key) : nullptr;
    if (Node* old = base.find(entry.key)) {
      *old = merge_values(std::move(*old), entry.value, rule_of(field));
    } else {
      base.entries.push_back(entry);
    }
  }
  return base;
}

}  // namespace

Node merge(const Node& base, const Node& over, const StructInfo& info) {
  return merge_values(base, over, {&info, info.inline_field()});
}

const FieldInfo* choice_of(const FieldInfo& field) {
  if (field.type->kind == TypeKind::kComponent) return &field;
  return field.type->structure != nullptr ? field.type->structure->inline_field() : nullptr;
}

Node as_section(const Node& section) {
  if (!section.is_scalar()) return section;
  Node map = Node::map();
  map.position = section.position;
  map.entries.push_back({"name", section, section.position});
  return map;
}

}  // namespace paceline::config
