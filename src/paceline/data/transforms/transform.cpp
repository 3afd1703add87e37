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

config::Node Transform::written() const {
  config::Node node = config::Node::map();
  node.set("name", config::Node::scalar(std::string(name())));
  return node;
}

config::Node written_settings(const config::StructInfo& info, const void* values) {
  config::Node written = config::Node::map();
  written.set("name", config::Node::scalar(info.name));
  for (const config::FieldInfo& field : info.fields) {
    config::Node value = config::to_node(*field.type, field.member_of(values));
    if (config::to_flow_yaml(value) != config::to_flow_yaml(field.default_value))
      written.set(field.name, std::move(value));
  }
  return written;
}

}  // namespace paceline::data
