#include "paceline/config/reference/explain.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/keys.h"

#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace paceline::config {
namespace {

std::string value_of(const KeyView& key, const DerivedValues& derived) {
  const auto found = derived.find(key.path);
  return found != derived.end() ? found->second : to_flow_yaml(key.value);
}

std::string explain_key(const KeyView& key, const Node& written, const Catalogs& catalogs,
                        const DerivedValues& derived) {
  const Node* origin = find_written(written, key.path);
  std::string text = fmt::format("{} = {}\n", key.path, value_of(key, derived));
  text += fmt::format("  written in: {}\n", origin != nullptr ? origin->position.to_string()
                                                              : "nowhere; this is the default");
  text +=
      fmt::format("  default:    {}\n", key.field->is_required() ? "none; the key must be written"
                                                                 : to_flow_yaml(key.default_value));
  text += fmt::format("  type:       {}\n", describe_type(*key.field, catalogs));
  text += fmt::format("  on resume:  {}\n",
                      key.may_change_on_resume ? "may change" : "must stay the same");
  text += fmt::format("  {}\n", key.field->help);
  return text;
}

std::string explain_section(std::string_view section, const std::vector<KeyView>& keys,
                            const Node& written, const DerivedValues& derived) {
  std::string text;
  for (const KeyView& key : keys) {
    if (!key.path.starts_with(fmt::format("{}.", section))) continue;
    const Node* origin = find_written(written, key.path);
    text += fmt::format("{} = {}  ({})\n", key.path, value_of(key, derived),
                        origin != nullptr ? origin->position.to_string() : "default");
  }
  return text;
}

std::string component_names(const TypeInfo& type, const Catalogs& catalogs) {
  const auto catalog = catalogs.find(type.component_kind);
  if (catalog == catalogs.end()) return type.name;
  return base::join(catalog->second->names(), " | ");
}

/// What to look at instead of a key that is not there, or that has a value as mixup=0.2; "" if
/// nothing is known.
std::string advice(std::string_view asked, const std::vector<std::string>& names,
                   const ForeignNames* foreign_names) {
  const std::size_t equals = asked.find('=');
  const std::string_view key = asked.substr(0, equals);
  if (foreign_names != nullptr) {
    const std::size_t dot = key.rfind('.');
    const std::string_view section = dot == key.npos ? "" : key.substr(0, dot);
    const Node value =
        equals == asked.npos ? Node() : Node::scalar(std::string(asked.substr(equals + 1)));
    const auto foreign = foreign_names->key_advice(
        section, dot == key.npos ? key : key.substr(dot + 1), value, /*world_size=*/0);
    if (foreign) return "; " + *foreign;
  }
  const std::string nearest = base::nearest_name(key, names);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

/// The same key of components that the recipe does not name.
class OptionFinder {
 public:
  explicit OptionFinder(const Catalogs& catalogs) : catalogs_(catalogs) {}

  void find(const StructInfo& info, std::span<const std::string> parts) {
    const FieldInfo* const field = info.find(parts[0]);
    if (field == nullptr) {
      const FieldInfo* const inline_field = info.inline_field();
      if (inline_field != nullptr) add_all(*inline_field->type, parts);
    } else if (field->type->kind == TypeKind::kStruct && parts.size() > 1) {
      find(*field->type->structure, parts.subspan(1));
    } else if (field->type->kind == TypeKind::kComponent && parts.size() > 1) {
      add_all(*field->type, parts.subspan(1));
    } else if (field->type->kind == TypeKind::kMap && parts.size() > 2 &&
               field->type->element->kind == TypeKind::kComponent) {
      const ComponentEntry* const entry = catalog_of(*field->type->element).find(parts[1]);
      if (entry != nullptr) add(*entry, parts.subspan(2));
    }
  }

  std::string text;

 private:
  const ComponentCatalog& catalog_of(const TypeInfo& type) const {
    return *catalogs_.at(type.component_kind);
  }

  void add_all(const TypeInfo& type, std::span<const std::string> parts) {
    for (const auto& [component, entry] : catalog_of(type).entries()) add(entry, parts);
  }

  void add(const ComponentEntry& entry, std::span<const std::string> parts) {
    const std::shared_ptr<void> defaults = entry.make();
    const void* object = defaults.get();
    const FieldInfo* field = entry.info->find(parts[0]);
    for (const std::string& part : parts.subspan(1)) {
      if (field == nullptr || field->type->kind != TypeKind::kStruct) return;
      object = field->member_of(object);
      field = field->type->structure->find(part);
    }
    if (field == nullptr) return;
    text += fmt::format("of {}: default {} ({})\n  {}\n", entry.name,
                        to_flow_yaml(to_node(*field->type, field->member_of(object))),
                        describe_type(*field, catalogs_), field->help);
  }

  const Catalogs& catalogs_;
};

}  // namespace

std::string explain(std::string_view key, const StructInfo& info, const void* object,
                    const Node& written, const BindContext& context, const DerivedValues& derived) {
  const Catalogs& catalogs = context.catalogs;
  const std::vector<KeyView> keys = list_keys(info, object, catalogs);
  std::vector<std::string> names;
  for (const KeyView& candidate : keys) {
    if (candidate.path == key) return explain_key(candidate, written, catalogs, derived);
    names.push_back(candidate.path);
  }
  std::string section = explain_section(key, keys, written, derived);
  if (!section.empty()) return section;
  OptionFinder others(catalogs);
  others.find(info, base::split(key, '.'));
  if (!others.text.empty())
    return fmt::format("{}, which the recipe has not\n{}", key, others.text);
  throw base::ConfigError(
      fmt::format("there is no key '{}'{}", key, advice(key, names, context.foreign_names)));
}

std::string describe_type(const FieldInfo& field, const Catalogs& catalogs) {
  const TypeInfo* type = field.type.get();
  std::string text = type->name;
  if (type->kind == TypeKind::kComponent) text = component_names(*type, catalogs);
  if (type->element != nullptr && type->element->kind == TypeKind::kComponent) {
    const char* shape =
        type->kind == TypeKind::kMap ? "map from names to options" : "list of sections";
    text = fmt::format("{}; names: {}", shape, component_names(*type->element, catalogs));
  }
  for (const FieldRule& rule : field.rules) {
    if (!rule.text().empty()) text += ", " + rule.text();
  }
  return text;
}

const Node* find_written(const Node& written, std::string_view key) {
  if (const Node* node = written.find_path(key)) return node;
  // `optimizer: adamw` writes optimizer.name without saying so.
  if (key.ends_with(".name")) {
    const Node* section = written.find_path(key.substr(0, key.size() - 5));
    if (section != nullptr && section->is_scalar()) return section;
  }
  return nullptr;
}

}  // namespace paceline::config
