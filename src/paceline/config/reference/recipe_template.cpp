#include "paceline/config/reference/recipe_template.h"

#include "paceline/base/text.h"
#include "paceline/config/write.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace paceline::config {
namespace {

class TemplateWriter {
 public:
  TemplateWriter(const Catalogs& catalogs, DerivedValues derived)
      : catalogs_(catalogs), derived_(std::move(derived)) {}

  void write_struct(const StructInfo& info, const void* object, std::size_t indent,
                    const std::string& path = "") {
    for (const FieldInfo& field : info.fields)
      write_field(field, field.member_of(object), indent, path);
  }

  std::string text;

 private:
  void write_field(const FieldInfo& field, const void* value, std::size_t indent,
                   const std::string& path) {
    const TypeInfo& type = *field.type;
    const std::string key = field.is_inline ? path : join_path(path, field.name);
    if (field.is_inline)
      return write_component(field, *static_cast<const Component*>(value), indent, key);
    if (type.kind == TypeKind::kStruct) {
      begin_section(field.help, field.name, indent);
      return write_struct(*type.structure, value, indent + 2, key);
    }
    if (type.kind == TypeKind::kComponent) {
      begin_section("", field.name, indent);
      return write_component(field, *static_cast<const Component*>(value), indent + 2, key);
    }
    comment(fmt::format("{} ({})", field.help, describe_type(field, catalogs_)), indent);
    Node entry = Node::map();
    entry.set(field.name, to_node(type, value));
    const auto derived = derived_.find(key);
    if (derived != derived_.end() && !is_null_or_auto(*entry.find(field.name))) {
      text +=
          fmt::format("{:{}}# {}: left out, it is {}\n", "", indent, field.name, derived->second);
      return;
    }
    for (const std::string& line : base::split(base::trim(to_yaml(entry)), '\n')) {
      text += std::string(indent, ' ') + line + "\n";
    }
  }

  /// What leaves the choice to the run although it is written.
  static bool is_null_or_auto(const Node& value) { return value.is_null() || value.text == "auto"; }

  void write_component(const FieldInfo& field, const Component& component, std::size_t indent,
                       const std::string& path) {
    comment(fmt::format("{} ({})", field.help, describe_type(field, catalogs_)), indent);
    const std::string name =
        component.name.empty() ? "null" : to_yaml_scalar(Node::scalar(component.name, true));
    text += fmt::format("{:{}}name: {}\n", "", indent, name);
    if (component.options == nullptr) return;
    leave_out_own_values(*field.type, component, path);
    write_struct(*component.info, component.options.get(), indent, path);
  }

  /// What the names of components that share their options stand for: written out, it would stay
  /// where another name is chosen.
  void leave_out_own_values(const TypeInfo& type, const Component& component,
                            const std::string& path) {
    const auto catalog = catalogs_.find(type.component_kind);
    if (catalog == catalogs_.end()) return;
    const ComponentEntry* const own = catalog->second->find(component.name);
    if (own == nullptr) return;
    const std::shared_ptr<void> values = own->make();
    for (const FieldInfo& field : component.info->fields) {
      const auto is_other = [&](const void* options) {
        return !same_value(to_node(*field.type, field.member_of(options)),
                           to_node(*field.type, field.member_of(values.get())));
      };
      if (is_other(component.options.get())) continue;  // it was chosen
      for (const auto& [name, entry] : catalog->second->entries()) {
        if (entry.info == own->info && is_other(entry.make().get()))
          derived_.try_emplace(join_path(path, field.name), component.name + "'s own");
      }
    }
  }

  void begin_section(const std::string& help, const std::string& name, std::size_t indent) {
    if (indent == 0) text += "\n";
    if (!help.empty()) comment(help, indent);
    text += fmt::format("{:{}}{}:\n", "", indent, name);
  }

  void comment(const std::string& help, std::size_t indent) {
    constexpr std::size_t kWidth = 100;
    std::string line = std::string(indent, ' ') + "#";
    for (const std::string& word : base::split(help, ' ')) {
      if (line.size() + 1 + word.size() > kWidth) {
        text += line + "\n";
        line = std::string(indent, ' ') + "#";
      }
      line += " " + word;
    }
    text += line + "\n";
  }

  const Catalogs& catalogs_;
  DerivedValues derived_;
};

}  // namespace

std::string recipe_template(const StructInfo& info, const void* object, const Catalogs& catalogs,
                            const DerivedValues& derived) {
  TemplateWriter writer(catalogs, derived);
  writer.text = fmt::format(
      "# yaml-language-server: $schema=recipe.schema.json\n"
      "# {} With `paceline config schema >recipe.schema.json` beside it editors know its keys.\n",
      info.summary);
  writer.write_struct(info, object, /*indent=*/0);
  return writer.text;
}

}  // namespace paceline::config
