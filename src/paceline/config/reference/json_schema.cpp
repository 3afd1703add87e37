#include "paceline/config/reference/json_schema.h"

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

  /// The kinds whose components take others of their kind, as random_choice does.
  Json definitions() const {
    Json definitions = Json::object();
    for (const auto& [kind, catalog] : catalogs_) {
      if (!holds_itself(kind)) continue;
      definitions[kind] = choice_of_component(*TypeOf<Component>::make(kind), FieldInfo());
    }
    return definitions;
  }

  Json write_struct(const StructInfo& info) const {
    const FieldInfo* choice = info.inline_field();
    if (choice != nullptr) return choice_of_component(*choice->type, *choice, &info);
    Json schema = section(info.summary);
    add_fields(info, schema);
    return schema;
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

  bool holds_itself(std::string_view kind) const {
    const auto catalog = catalogs_.find(kind);
    if (catalog == catalogs_.end()) return false;
    for (const auto& [name, entry] : catalog->second->entries()) {
      for (const FieldInfo& field : entry.info->fields) {
        const TypeInfo* type = field.type.get();
        while (type->element != nullptr) type = type->element.get();
        if (type->kind == TypeKind::kComponent && type->component_kind == kind) return true;
      }
    }
    return false;
  }

  // {name: adamw, ...} of one component, with the keys of the struct that it stands in, if it does.
  Json component(const ComponentEntry& entry, const StructInfo* outer) const {
    Json schema = section(entry.summary);
    schema["properties"]["name"] = Json::object();
    add_fields(*entry.info, schema);
    if (outer != nullptr) add_fields(*outer, schema);
    return schema;
  }

  template <class Visit>
  void for_each_entry(const TypeInfo& type, Visit visit) const {
    const auto catalog = catalogs_.find(type.component_kind);
    if (catalog == catalogs_.end()) return;
    for (const auto& [name, entry] : catalog->second->entries()) visit(entry);
  }

  // A bare name, or a section whose `name` decides what else it may hold: editors then tell what is
  // wrong with the component that was meant, and not that it is not another one.
  Json choice_of_component(const TypeInfo& type, const FieldInfo& field,
                           const StructInfo* outer = nullptr) const {
    const Node* default_name = field.default_value.find("name");
    Json names = Json::array();
    Json rules = Json::array();
    for_each_entry(type, [&](const ComponentEntry& entry) {
      names.push_back(entry.name);
      Json is_meant = {{"properties", {{"name", {{"const", entry.name}}}}}};
      const bool is_default = default_name != nullptr && default_name->text == entry.name;
      if (!is_default) is_meant["required"] = {"name"};
      rules.push_back({{"if", std::move(is_meant)}, {"then", component(entry, outer)}});
    });
    Json by_section = {{"type", "object"},
                       {"properties", {{"name", {{"enum", names}, {"description", field.help}}}}},
                       {"allOf", std::move(rules)}};
    if (default_name == nullptr || default_name->text.empty()) by_section["required"] = {"name"};
    return {{"description", outer != nullptr ? outer->summary : field.help},
            {"if", {{"type", "string"}}},
            {"then", {{"enum", std::move(names)}}},
            {"else", std::move(by_section)}};
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
        return number("integer");
      case TypeKind::kNumber:
        return number("number");
      case TypeKind::kString:
        return {{"type", {"string", "number", "boolean"}}};
      case TypeKind::kEnum:
        return choices(type.choices);
      case TypeKind::kDuration:
        return duration;
      case TypeKind::kDurationList:
        return {{"anyOf", {duration, {{"type", "array"}, {"items", duration}}}}};
      case TypeKind::kSides:
        return {{"anyOf",
                 {number("integer"),
                  {{"type", "array"}, {"items", number("integer")}, {"minItems", 1}}}}};
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
        if (holds_itself(type.component_kind))
          return {{"$ref", "#/definitions/" + type.component_kind}};
        return choice_of_component(type, *field);
      case TypeKind::kSections:
        return {{"type", "object"}, {"additionalProperties", {{"type", {"object", "null"}}}}};
    }
    return Json::object();
  }

  // To readers of YAML 1.1 5e-4 is text (they want 5.0e-4), and to those of 1.2 1_000 is.
  static Json number(const char* type) {
    return {{"type", {type, "string"}}, {"pattern", "^[-+]?[0-9][0-9._]*([eE][-+]?[0-9]+)?$"}};
  }

  // To readers of YAML 1.1 on and off are true and false.
  static Json choices(const std::vector<std::string>& names) {
    Json values = names;
    for (const std::string& name : names) {
      if (name == "on") values.push_back(true);
      if (name == "off") values.push_back(false);
    }
    return {{"enum", std::move(values)}};
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
    if (type.kind == TypeKind::kSides) {
      add_limits(rule, schema["anyOf"][0]);
      return add_limits(rule, schema["anyOf"][1]["items"]);
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
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", info.name}};
  const SchemaWriter writer(catalogs);
  schema.update(writer.write_struct(info));
  Json definitions = writer.definitions();
  if (!definitions.empty()) schema["definitions"] = std::move(definitions);
  schema["properties"]["extends"] = {
      {"description", "Recipes whose keys this one takes over, relative to this file."},
      {"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}};
  return schema.dump(2) + "\n";
}

}  // namespace paceline::config
