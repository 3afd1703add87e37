#include "paceline/data/transforms/schema.h"

#include <memory>
#include <string>
#include <variant>

namespace paceline::config {

void Schema<data::RandomResizedCropConfig>::validate(const Config& values, Problems& problems) {
  if (values.scale[0] > values.scale[1]) {
    problems.add("scale", "the lowest share comes first, got the higher one");
  }
  if (values.ratio[0] > values.ratio[1]) {
    problems.add("ratio", "the lowest ratio comes first, got the higher one");
  }
}

}  // namespace paceline::config

namespace paceline::data {
namespace {

template <class Config>
void add_transform(TransformRegistry& registry) {
  registry.add<Config>(
      [](const Config& config) { return std::make_unique<TransformConfig>(config); });
}

template <class... Configs>
void add_alternatives(TransformRegistry& registry, const std::variant<Configs...>*) {
  (add_transform<Configs>(registry), ...);
}

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

}  // namespace

void register_transforms(TransformRegistry& registry) {
  add_alternatives(registry, static_cast<const TransformConfig*>(nullptr));
}

void check_values(const TransformConfig& transform) {
  std::visit(
      []<class Config>(const Config& values) { check_fields(config::describe<Config>(), &values); },
      transform);
}

}  // namespace paceline::data
