#include "paceline/config/json_schema.h"

#include "paceline/base/json.h"
#include "paceline/config/write.h"

#include <nlohmann/json.hpp>

namespace paceline::config {
namespace {

using Json = nlohmann::ordered_json;

Json json_value(const Node& node) { return base::parse_ordered_json(to_json(node)); }

class SchemaWriter {
 public:
  explicit SchemaWriter(const Catalogs& catalogs) : catalogs_(catalogs) {}

  Json write_struct(const StructInfo& info) const {
    Json schema = section(info.summary);
    add_fields(info, schema);
    const FieldInfo* choice = info.inline_field();
    if (choice == nullptr) return schema;
    // The struct's own keys stand in every alternative, so that each can forbid all others.
    Json names = Json::array();
    Json alternatives = Json::array();
    for_each_entry(*choice->type, [&](const ComponentEntry& entry) {
      Json alternative = component(entry, *choice);
      add_fields(info, alternative);
      names.push_back(entry.name);
      alternatives.push_back(std::move(alternative));
    });
    alternatives.push_back({{"enum", std::move(names)}});
    return {{"description", info.summary}, {"anyOf", std::move(alternatives)}};
  }

 private:
  static Json section(const std::string& description) {
    return {{"type", "object"},
            {"description", description},
            {"properties", Json::object()},
            {"additionalProperties", false}};
  }

  void add_fields(const StructInfo& info, Json& schema) const {
    for (const FieldInfo& field : info.fields) {
      if (field.is_inline) continue;
      Json property = write_type(*field.type, &field);
      property["description"] = field.help;
      if (!is_section(*field.type) && !field.is_required())
        property["default"] = json_value(field.default_value);
      for (const FieldRule& rule : field.rules) add_rule(rule, *field.type, property);
      schema["properties"][field.name] = std::move(property);
      if (field.is_required()) schema["required"].push_back(field.name);
    }
  }

  static bool is_section(const TypeInfo& type) {
    return type.kind == TypeKind::kStruct || type.kind == TypeKind::kComponent;
  }

  // {name: adamw, ...} of one component; `choice` may say which name is the default.
  Json component(const ComponentEntry& entry, const FieldInfo& choice) const {
    Json schema = section(entry.summary);
    schema["properties"]["name"] = {{"const", entry.name}, {"description", choice.help}};
    add_fields(*entry.info, schema);
    const Node* default_name = choice.default_value.find("name");
    const bool is_default = default_name != nullptr && default_name->text == entry.name;
    if (!is_default) schema["required"].push_back("name");
    return schema;
  }

  template <class Visit>
  void for_each_entry(const TypeInfo& type, Visit visit) const {
    const auto catalog = catalogs_.find(type.component_kind);
    if (catalog == catalogs_.end()) return;
    for (const auto& [name, entry] : catalog->second->entries()) visit(entry);
  }

  Json choice_of_component(const TypeInfo& type, const FieldInfo& field) const {
    Json names = Json::array();
    Json alternatives = Json::array();
    for_each_entry(type, [&](const ComponentEntry& entry) {
      names.push_back(entry.name);
      alternatives.push_back(component(entry, field));
    });
    alternatives.push_back({{"enum", std::move(names)}});
    return {{"anyOf", std::move(alternatives)}};
  }

  Json map_of_components(const TypeInfo& type) const {
    Json schema = section("");
    for_each_entry(*type.element, [&](const ComponentEntry& entry) {
      Json options = section(entry.summary);
      options["type"] = {"object", "null"};
      add_fields(*entry.info, options);
      schema["properties"][entry.name] = std::move(options);
    });
    return schema;
  }

  Json write_type(const TypeInfo& type, const FieldInfo* field) const {
    static const Json duration = {{"type", "string"},
                                  {"pattern", "^[0-9.eE+_]+ *(ep|ba|sp|dur|h|m|s|sec)"}};
    switch (type.kind) {
      case TypeKind::kBool:
        return {{"type", "boolean"}};
      case TypeKind::kInteger:
        return {{"type", "integer"}};
      case TypeKind::kNumber:
        return {{"type", "number"}};
      case TypeKind::kString:
        return {{"type", {"string", "number", "boolean"}}};
      case TypeKind::kEnum:
        return {{"enum", type.choices}};
      case TypeKind::kDuration:
        return duration;
      case TypeKind::kDurationList:
        return {{"anyOf", {duration, {{"type", "array"}, {"items", duration}}}}};
      case TypeKind::kOptional:
        return {{"anyOf", {write_type(*type.element, field), {{"type", "null"}}}}};
      case TypeKind::kList:
        return list(type, field);
      case TypeKind::kMap:
        if (type.element->kind == TypeKind::kComponent) return map_of_components(type);
        return {{"type", "object"}, {"additionalProperties", write_type(*type.element, field)}};
      case TypeKind::kStruct:
        return write_struct(*type.structure);
      case TypeKind::kComponent:
        return choice_of_component(type, *field);
    }
    return Json::object();
  }

  Json list(const TypeInfo& type, const FieldInfo* field) const {
    Json schema = {{"type", "array"}, {"items", write_type(*type.element, field)}};
    if (type.fixed_size > 0) {
      schema["minItems"] = type.fixed_size;
      schema["maxItems"] = type.fixed_size;
    }
    return schema;
  }

  // Limits stand where the numbers are: in a list's items, in an optional's value.
  static void add_rule(const FieldRule& rule, const TypeInfo& type, Json& schema) {
    if (type.kind == TypeKind::kOptional) return add_rule(rule, *type.element, schema["anyOf"][0]);
    if (rule.kind == RuleKind::kNotEmpty) {
      const char* keyword = type.kind == TypeKind::kList  ? "minItems"
                            : type.kind == TypeKind::kMap ? "minProperties"
                                                          : "minLength";
      schema[keyword] = 1;
      return;
    }
    if (type.kind == TypeKind::kList) return add_rule(rule, *type.element, schema["items"]);
    if (type.kind == TypeKind::kMap) {
      if (type.element->kind != TypeKind::kComponent) {
        add_rule(rule, *type.element, schema["additionalProperties"]);
      }
      return;
    }
    add_limits(rule, schema);
  }

  static void add_limits(const FieldRule& rule, Json& schema) {
    if (rule.kind == RuleKind::kPlainName) {
      schema["pattern"] = "^[^/]+$";
      return;
    }
    if (schema.value("type", Json()) == "string")
      return;  // durations: no numbers for an editor to compare
    switch (rule.kind) {
      case RuleKind::kAtLeast:
        schema["minimum"] = rule.low;
        break;
      case RuleKind::kAtMost:
        schema["maximum"] = rule.high;
        break;
      case RuleKind::kMoreThan:
        schema["exclusiveMinimum"] = rule.low;
        break;
      case RuleKind::kLessThan:
        schema["exclusiveMaximum"] = rule.high;
        break;
      case RuleKind::kInRange:
        schema["minimum"] = rule.low;
        schema["maximum"] = rule.high;
        break;
      case RuleKind::kOneOf:
        schema.erase("type");
        schema["enum"] = std::vector<std::string>(
            rule.choices.begin(),
            rule.choices.begin() + static_cast<std::ptrdiff_t>(rule.num_choices));
        break;
      default:
        break;
    }
  }

  const Catalogs& catalogs_;
};

}  // namespace

std::string json_schema(const StructInfo& info, const Catalogs& catalogs) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", info.name}};
  schema.update(SchemaWriter(catalogs).write_struct(info));
  schema["properties"]["extends"] = {
      {"description", "Recipes whose keys this one takes over, relative to this file."},
      {"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}};
  return schema.dump(2) + "\n";
}

}  // namespace paceline::config
