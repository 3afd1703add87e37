#include "paceline/data/transforms/schema.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace paceline::config {

namespace {

void check_order(std::string_view field, const std::array<double, 2>& range, Problems& problems) {
  if (range[0] > range[1]) problems.add(field, "the lowest comes first, got the higher one");
}

}  // namespace

void Schema<data::RandomResizedCropConfig>::validate(const Config& values, Problems& problems) {
  check_order("scale", values.scale, problems);
  check_order("ratio", values.ratio, problems);
}

void Schema<data::RandomRotationConfig>::validate(const Config& values, Problems& problems) {
  check_order("degrees", values.degrees, problems);
}

void Schema<data::RandomAffineConfig>::validate(const Config& values, Problems& problems) {
  check_order("degrees", values.degrees, problems);
  check_order("scale", values.scale, problems);
  check_order("shear_x", values.shear_x, problems);
  check_order("shear_y", values.shear_y, problems);
}

void Schema<data::RandAugmentConfig>::validate(const Config& values, Problems& problems) {
  if (values.magnitude >= values.num_magnitude_bins) {
    problems.add("magnitude", "it must be below num_magnitude_bins");
  }
}

void Schema<data::RandomErasingConfig>::validate(const Config& values, Problems& problems) {
  check_order("scale", values.scale, problems);
  check_order("ratio", values.ratio, problems);
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
