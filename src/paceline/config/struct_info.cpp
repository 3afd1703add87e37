#include "paceline/config/struct_info.h"

#include <algorithm>

namespace paceline::config {

bool FieldInfo::has_rule(RuleKind kind) const {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const FieldRule& rule) { return rule.kind == kind; });
}

const FieldInfo* StructInfo::find(std::string_view field_name) const {
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& candidate) {
    return candidate.name == field_name && !candidate.is_inline;
  });
  return field == fields.end() ? nullptr : &*field;
}

const FieldInfo* StructInfo::inline_field() const {
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [](const FieldInfo& candidate) { return candidate.is_inline; });
  return field == fields.end() ? nullptr : &*field;
}

}  // namespace paceline::config
