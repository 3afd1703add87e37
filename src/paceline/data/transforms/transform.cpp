#include "paceline/data/transforms/transform.h"

namespace paceline::data {

void check_fields(const config::StructInfo& info, const void* values) {
  config::Problems problems;
  problems.enter(info.name, nullptr);
  for (const config::FieldInfo& field : info.fields) {
    const config::Node node = config::to_node(*field.type, field.member_of(values));
    for (const config::FieldRule& rule : field.rules) {
      if (auto violation = rule.violation(node)) problems.add(field.name, *violation);
    }
  }
  if (problems.empty() && info.validate != nullptr) info.validate(values, problems);
  problems.throw_if_any();
}

}  // namespace paceline::data
