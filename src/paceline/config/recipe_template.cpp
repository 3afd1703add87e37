#include "paceline/config/recipe_template.h"

#include "paceline/base/text.h"
#include "paceline/config/explain.h"
#include "paceline/config/write.h"

#include <fmt/format.h>

namespace paceline::config {
namespace {

class TemplateWriter {
 public:
  explicit TemplateWriter(const Catalogs& catalogs) : catalogs_(catalogs) {}

  void write_struct(const StructInfo& info, const void* object, std::size_t indent) {
    for (const FieldInfo& field : info.fields) write_field(field, field.member_of(object), indent);
  }

  std::string text;

 private:
  void write_field(const FieldInfo& field, const void* value, std::size_t indent) {
    const TypeInfo& type = *field.type;
    if (field.is_inline)
      return write_component(field, *static_cast<const Component*>(value), indent);
    if (type.kind == TypeKind::kStruct) {
      begin_section(field.help, field.name, indent);
      return write_struct(*type.structure, value, indent + 2);
    }
    if (type.kind == TypeKind::kComponent) {
      begin_section("", field.name, indent);
      return write_component(field, *static_cast<const Component*>(value), indent + 2);
    }
    comment(fmt::format("{} ({})", field.help, describe_type(field, catalogs_)), indent);
    Node entry = Node::map();
    entry.set(field.name, to_node(type, value));
    for (const std::string& line : base::split(base::trim(to_yaml(entry)), '\n')) {
      text += std::string(indent, ' ') + line + "\n";
    }
  }

  void write_component(const FieldInfo& field, const Component& component, std::size_t indent) {
    comment(fmt::format("{} ({})", field.help, describe_type(field, catalogs_)), indent);
    const std::string name =
        component.name.empty() ? "null" : to_yaml_scalar(Node::scalar(component.name, true));
    text += fmt::format("{:{}}name: {}\n", "", indent, name);
    if (component.options != nullptr)
      write_struct(*component.info, component.options.get(), indent);
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
};

}  // namespace

std::string recipe_template(const StructInfo& info, const void* object, const Catalogs& catalogs) {
  TemplateWriter writer(catalogs);
  writer.text = fmt::format(
      "# yaml-language-server: $schema=recipe.schema.json\n"
      "# {} With `paceline config schema >recipe.schema.json` beside it editors know its keys.\n",
      info.summary);
  writer.write_struct(info, object, 0);
  return writer.text;
}

}  // namespace paceline::config
