#include "paceline/config/bind.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/merge.h"
#include "paceline/config/secret.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::config {
namespace {

const Node kNothing = {};

std::vector<std::string> field_names(const StructInfo& info) {
  std::vector<std::string> names;
  for (const FieldInfo& field : info.fields) {
    if (!field.is_inline) names.push_back(field.name);
  }
  return names;
}

class Binder {
 public:
  Binder(const BindContext& context, Problems& problems) : context_(context), problems_(problems) {}

  // `known` are names beside the struct's own that a hint may offer.
  void read_struct(const StructInfo& info, const Node* section, void* object,
                   const std::string& path, const std::vector<std::string>& known = {}) {
    const std::size_t problems_before = problems_.size();
    if (section != nullptr && section->is_scalar() && info.inline_field() != nullptr) {
      const Node by_name = as_section(*section);  // `model: resnet50`
      return read_struct(info, &by_name, object, path, known);
    }
    if (section != nullptr && !section->is_map() && !section->is_null()) {
      return complain(*section, path,
                      fmt::format("must be a section with keys such as {}, got {}",
                                  first_names(info), section->describe()));
    }
    const Node& map = section != nullptr ? *section : kNothing;
    Node rest = Node::map();  // keys that an inline component or nobody knows
    rest.position = map.position;
    for (const MapEntry& entry : map.entries) {
      if (info.find(entry.key) == nullptr) rest.entries.push_back(entry);
    }
    for (const FieldInfo& field : info.fields) {
      if (field.is_inline) {
        read_component(*field.type, rest, field.member(object), path, field_names(info));
      } else {
        read_field(field, map, field.member(object), path);
      }
    }
    if (info.inline_field() == nullptr) {
      std::vector<std::string> names = field_names(info);
      names.insert(names.end(), known.begin(), known.end());
      for (const MapEntry& entry : rest.entries) unknown_key(entry, path, names);
    }
    if (info.validate != nullptr && problems_.size() == problems_before) {
      problems_.enter(path, section);
      info.validate(object, problems_);
    }
  }

 private:
  void read_field(const FieldInfo& field, const Node& section, void* value,
                  const std::string& path) {
    const std::string key = join_path(path, field.name);
    const Node* node = section.find(field.name);
    if (node == nullptr) {
      if (field.is_required()) {
        complain(section, key,
                 fmt::format("is missing: write it ({}; {})", field.type->name, field.help));
      } else {
        read_absent(*field.type, value, key);
        resolve_paths(field, section, value, key);
      }
      return;
    }
    const std::size_t problems_before = problems_.size();
    read(*field.type, *node, value, key);
    if (problems_.size() > problems_before) return;
    for (const FieldRule& rule : field.rules) {
      if (auto complaint = rule.violation(to_node(*field.type, value)))
        complain(*node, key, *complaint);
    }
    resolve_paths(field, *node, value, key);
  }

  void resolve_paths(const FieldInfo& field, const Node& node, void* value,
                     const std::string& key) {
    if (!field.has_rule(RuleKind::kPath) || !context_.resolve_path) return;
    try {
      resolve_path(*field.type, value);
    } catch (const base::ConfigError& error) {
      complain(node, key, error.what());
    }
  }

  // A path may be a null optional.
  void resolve_path(const TypeInfo& type, void* value) const {
    if (type.kind == TypeKind::kOptional) {
      type.visit(value, [&](const std::string&, const void* text) {
        resolve_path(*type.element, const_cast<void*>(text));
      });
      return;
    }
    PACELINE_CHECK(type.kind == TypeKind::kString, "a Path must be text, not {}", type.name);
    auto& text = *static_cast<std::string*>(value);
    if (!text.empty()) text = context_.resolve_path(text);
  }

  // Defaults need no reading, except that components must be resolved wherever they are.
  void read_absent(const TypeInfo& type, void* value, const std::string& path) {
    if (type.kind == TypeKind::kStruct) {
      read_struct(*type.structure, nullptr, value, path);
    } else if (type.kind == TypeKind::kComponent) {
      read_component(type, kNothing, value, path, {});
    } else if (type.element != nullptr) {
      type.visit(value, [&](const std::string& key, const void* element) {
        read_absent(*type.element, const_cast<void*>(element),
                    key.empty() ? path : join_path(path, key));
      });
    }
  }

  void read(const TypeInfo& type, const Node& node, void* value, const std::string& path) {
    switch (type.kind) {
      case TypeKind::kOptional:
        type.clear(value);
        if (!node.is_null()) read(*type.element, node, type.add(value, "", 0), path);
        return;
      case TypeKind::kList:
        return read_list(type, node, value, path);
      case TypeKind::kMap:
        return read_map(type, node, value, path);
      case TypeKind::kStruct:
        return read_struct(*type.structure, &node, value, path);
      case TypeKind::kComponent:
        return read_component(type, node, value, path, {});
      default:
        if (auto complaint = type.read(node, value)) {
          complain(node, path, *complaint + translation(type, node, path));
        }
    }
  }

  std::optional<std::string> translate(const std::string& path, const std::string& value) const {
    if (context_.foreign_names == nullptr) return std::nullopt;
    return context_.foreign_names->translate(path, value);
  }

  std::optional<std::string> foreign_advice(const std::string& section, const std::string& key,
                                            const Node& value) const {
    if (is_secret(key, "")) return std::string(secret_advice());
    if (context_.foreign_names == nullptr) return std::nullopt;
    return context_.foreign_names->key_advice(section, key, value, context_.world_size);
  }

  // "; here it is called fp16" for another trainer's spelling of one of the choices, or of null.
  std::string translation(const TypeInfo& type, const Node& node, const std::string& path) const {
    const std::optional<std::string> ours = translate(path, node.text);
    if (!ours || base::nearest_name(node.text, type.choices) == *ours) return "";
    const bool is_choice =
        std::find(type.choices.begin(), type.choices.end(), *ours) != type.choices.end();
    return is_choice || *ours == "null" ? fmt::format("; here it is called {}", *ours) : "";
  }

  void read_list(const TypeInfo& type, const Node& node, void* value, const std::string& path) {
    if (!node.is_list()) {
      return complain(node, path, fmt::format("must be a {}, got {}", type.name, node.describe()));
    }
    if (type.fixed_size > 0 && node.items.size() != type.fixed_size) {
      return complain(node, path,
                      fmt::format("must be a {}, got {} of them", type.name, node.items.size()));
    }
    type.clear(value);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      read(*type.element, node.items[i], type.add(value, "", i), fmt::format("{}[{}]", path, i));
    }
  }

  void read_map(const TypeInfo& type, const Node& node, void* value, const std::string& path) {
    if (!node.is_map() && !node.is_null()) {
      return complain(node, path, fmt::format("must be a {}, got {}", type.name, node.describe()));
    }
    type.clear(value);
    for (const MapEntry& entry : node.entries) {
      const std::string key = join_path(path, entry.key);
      if (type.element->kind == TypeKind::kComponent) {
        read_named_component(*type.element, entry, type.add(value, entry.key, 0), key);
      } else {
        read(*type.element, entry.value, type.add(value, entry.key, 0), key);
      }
    }
  }

  // {mixup: {alpha: 0.2}}: the key is the component's name.
  void read_named_component(const TypeInfo& type, const MapEntry& entry, void* value,
                            const std::string& path) {
    auto& component = *static_cast<Component*>(value);
    component.name = entry.key;
    if (const ComponentEntry* found = find_component(type, entry.key, entry.position, path)) {
      bind_options(*found, entry.value, component, path, {});
    } else {
      check_as_nearest(type, entry.key, entry.value, path, {});
    }
  }

  // `siblings` are the keys that the section has beside the component's own.
  void read_component(const TypeInfo& type, const Node& node, void* value, const std::string& path,
                      const std::vector<std::string>& siblings) {
    auto& component = *static_cast<Component*>(value);
    Node options = as_section(node);
    const Node* name = options.find("name");
    if (name != nullptr && !name->is_scalar()) {
      return complain(*name, join_path(path, "name"),
                      fmt::format("must be a component's name, got {}", name->describe()));
    }
    if (name != nullptr) component.name = name->text;
    if (node.is_list()) {
      return complain(node, path,
                      fmt::format("must be a section with a name, got {}", node.describe()));
    }
    if (node.is_null() && !node.text.empty()) {
      return complain(node, path,
                      fmt::format("must be one of {}, got null; left out it is {}",
                                  base::join(catalog_of(type).names(), ", "), component.name));
    }
    if (component.name.empty()) return missing_name(type, node, path);
    const Position position = name != nullptr ? name->position : node.position;
    const ComponentEntry* entry =
        find_component(type, component.name, position, join_path(path, "name"));
    options.erase("name");
    if (entry != nullptr) {
      bind_options(*entry, options, component, path, siblings);
    } else {
      check_as_nearest(type, component.name, options, path, siblings);
    }
  }

  // One wrong name must not hide what else is wrong: the options of the component that was meant.
  void check_as_nearest(const TypeInfo& type, const std::string& name, const Node& options,
                        const std::string& path, const std::vector<std::string>& siblings) {
    const ComponentCatalog& catalog = catalog_of(type);
    const ComponentEntry* meant = catalog.find(base::nearest_name(name, catalog.names()));
    Component scratch;
    if (meant != nullptr) bind_options(*meant, options, scratch, path, siblings);
  }

  void bind_options(const ComponentEntry& entry, const Node& node, Component& component,
                    const std::string& path, std::vector<std::string> siblings) {
    std::shared_ptr<void> options = entry.make();
    siblings.emplace_back("name");
    read_struct(*entry.info, &node, options.get(), path, siblings);
    component.info = entry.info;
    component.options = std::move(options);
  }

  const ComponentCatalog& catalog_of(const TypeInfo& type) const {
    const auto catalog = context_.catalogs.find(type.component_kind);
    PACELINE_CHECK(catalog != context_.catalogs.end() && catalog->second != nullptr,
                   "no catalog of kind '{}' was given", type.component_kind);
    return *catalog->second;
  }

  const ComponentEntry* find_component(const TypeInfo& type, const std::string& name,
                                       const Position& position, const std::string& path) {
    const ComponentCatalog& catalog = catalog_of(type);
    const ComponentEntry* entry = catalog.find(name);
    if (entry != nullptr) return entry;
    const std::vector<std::string> names = catalog.names();
    const std::string nearest = base::nearest_name(name, names);
    std::string text = fmt::format("there is no '{}'", base::excerpt(name));
    if (const auto ours = translate(path, name); ours && nearest != *ours)
      text += fmt::format("; here it is called {}", *ours);
    if (const auto advice = foreign_advice(path, name, {})) text += fmt::format("; {}", *advice);
    if (!nearest.empty()) text += fmt::format("; did you mean {}?", nearest);
    text += fmt::format("{} Known: {}", nearest.empty() ? "." : "",
                        names.empty() ? "none" : base::join(names, ", "));
    problems_.add({position, path, text});
    return nullptr;
  }

  void missing_name(const TypeInfo& type, const Node& node, const std::string& path) {
    if (node.is_map() && node.entries.size() == 1 &&
        catalog_of(type).find(node.entries[0].key) != nullptr) {
      return complain(node, path,
                      fmt::format("a component with options is written {{name: {}, ...}}",
                                  node.entries[0].key));
    }
    complain(
        node, join_path(path, "name"),
        fmt::format("is missing: write one of {}", base::join(catalog_of(type).names(), ", ")));
  }

  void unknown_key(const MapEntry& entry, const std::string& path,
                   const std::vector<std::string>& names) {
    const std::string key = join_path(path, entry.key);
    std::string text = "there is no such key";
    const std::string nearest = base::nearest_name(entry.key, names);
    const bool is_ours = base::to_lower(entry.key) == nearest;
    const auto advice = is_ours ? std::nullopt : foreign_advice(path, entry.key, entry.value);
    if (path.empty() && entry.key.find('.') != std::string::npos) {
      text += fmt::format("; in a file it is written {}", as_sections(entry));
    } else if (advice) {
      text += "; " + *advice;
    } else if (!nearest.empty()) {
      text += fmt::format("; did you mean {}?", join_path(path, nearest));
    } else {
      text += names.empty() ? "; nothing can be set here" : "; known: " + base::join(names, ", ");
    }
    problems_.add({entry.position, key, text});
  }

  // "{optimizer: {lr: 0.1}}" for the key optimizer.lr.
  static std::string as_sections(const MapEntry& entry) {
    const std::vector<std::string> parts = base::split(entry.key, '.');
    const bool is_scalar = entry.value.is_scalar();
    std::string text =
        fmt::format("{}: {}", parts.back(), is_scalar ? base::excerpt(entry.value.text) : "...");
    for (std::size_t i = parts.size() - 1; i > 0; --i)
      text = fmt::format("{}: {{{}}}", parts[i - 1], text);
    return text;
  }

  static std::string first_names(const StructInfo& info) {
    std::vector<std::string> names = field_names(info);
    if (names.empty()) names = {"name"};
    if (names.size() > 3) names.resize(3);
    return base::join(names, ", ");
  }

  void complain(const Node& node, const std::string& path, std::string text) {
    problems_.add({node.position, path, std::move(text)});
  }

  const BindContext& context_;
  Problems& problems_;
};

}  // namespace

void bind(const Node& node, const StructInfo& info, void* object, const BindContext& context,
          Problems& problems) {
  Binder(context, problems).read_struct(info, &node, object, "");
}

Component bind_component(const ComponentEntry& entry, const Node& options,
                         const BindContext& context) {
  const auto bound = entry.make();
  Problems problems;
  bind(options, *entry.info, bound.get(), context, problems);
  problems.throw_if_any();
  return {entry.name, entry.info, bound};
}

}  // namespace paceline::config
