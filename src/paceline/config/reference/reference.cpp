#include "paceline/config/reference/reference.h"

#include "paceline/config/reference/explain.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace paceline::config {
namespace {

std::string cell(std::string text) {
  for (std::size_t bar = 0; (bar = text.find('|', bar)) != text.npos; bar += 2)
    text.insert(bar, "\\");
  return text;
}

// What a section or a component is called, and the use its keys are put to.
class ReferenceWriter {
 public:
  explicit ReferenceWriter(const Catalogs& catalogs) : catalogs_(catalogs) {}

  void write_section(const std::string& path, const std::string& help, const StructInfo& info) {
    if (!path.empty()) text += fmt::format("\n## `{}`\n\n{}\n", path, help);
    const std::shared_ptr<void> defaults = info.make();
    write_table(info, defaults.get());
    for (const FieldInfo& field : info.fields) {
      const bool may_be_null = field.type->kind == TypeKind::kOptional;
      const TypeInfo& type = may_be_null ? *field.type->element : *field.type;
      if (type.kind == TypeKind::kStruct) {
        write_section(join_path(path, field.name), field.help, *type.structure);
      }
      remember_catalog(join_path(path, field.is_inline ? "" : field.name), *field.type);
    }
  }

  void write_catalogs() {
    for (const auto& [kind, places] : uses_) {
      const auto catalog = catalogs_.find(kind);
      if (catalog == catalogs_.end()) continue;
      text += fmt::format("\n## Components for {}\n", places);
      for (const auto& [name, entry] : catalog->second->entries()) {
        text += fmt::format("\n### `{}`\n\n{}\n", name, entry.summary);
        if (!entry.paper.empty()) text += fmt::format("\nSource: {}\n", entry.paper);
        const std::shared_ptr<void> defaults = entry.make();
        write_rows(rows_with_sections(*entry.info, defaults.get(), ""));
      }
    }
  }

  std::string text;

 private:
  /// Sections have tables of their own.
  void write_table(const StructInfo& info, const void* defaults) {
    std::string rows;
    for (const FieldInfo& field : info.fields) {
      if (field.type->kind != TypeKind::kStruct)
        rows += row(field, field.is_inline ? "name" : field.name, defaults);
    }
    write_rows(rows);
  }

  /// Those of a component's sections stand among its own, with their paths.
  std::string rows_with_sections(const StructInfo& info, const void* defaults,
                                 const std::string& path) const {
    std::string rows;
    for (const FieldInfo& field : info.fields) {
      const std::string key = join_path(path, field.name);
      rows += field.type->kind == TypeKind::kStruct
                  ? rows_with_sections(*field.type->structure, field.member_of(defaults), key)
                  : row(field, key, defaults);
    }
    return rows;
  }

  void write_rows(const std::string& rows) {
    if (!rows.empty()) text += "\n| key | type | default | meaning |\n|---|---|---|---|\n" + rows;
  }

  std::string row(const FieldInfo& field, const std::string& key, const void* defaults) const {
    return fmt::format("| `{}` | {} | {} | {} |\n", key, cell(type_text(field)),
                       default_text(field, field.member_of(defaults)),
                       cell(field.help + resume_text(field)));
  }

  std::string type_text(const FieldInfo& field) const {
    const TypeInfo& type = *field.type;
    if (type.kind == TypeKind::kComponent) return "a component";
    if (type.element != nullptr && type.element->kind == TypeKind::kComponent) {
      return type.kind == TypeKind::kMap ? "map from components to their keys"
                                         : "list of components";
    }
    return describe_type(field, catalogs_);
  }

  static std::string default_text(const FieldInfo& field, const void* value) {
    if (field.is_required()) return "must be written";
    Node node = to_node(*field.type, value);
    if (field.type->kind == TypeKind::kComponent) node = *node.find("name");
    return fmt::format("`{}`", cell(to_flow_yaml(node)));
  }

  static std::string resume_text(const FieldInfo& field) {
    return field.may_change_on_resume() ? " May change on resume." : "";
  }

  void remember_catalog(std::string path, const TypeInfo& type) {
    if (type.element != nullptr) return remember_catalog(std::move(path), *type.element);
    if (type.kind != TypeKind::kComponent) return;
    while (path.ends_with('.')) path.pop_back();
    const auto known = std::find_if(uses_.begin(), uses_.end(), [&](const auto& use) {
      return use.first == type.component_kind;
    });
    if (known == uses_.end()) {
      uses_.emplace_back(type.component_kind, fmt::format("`{}`", path));
    } else {
      known->second += fmt::format(", `{}`", path);
    }
  }

  const Catalogs& catalogs_;
  std::vector<std::pair<std::string, std::string>> uses_;  // kind, the keys that take it
};

}  // namespace

std::string reference_markdown(const StructInfo& info, const Catalogs& catalogs) {
  ReferenceWriter writer(catalogs);
  writer.text = fmt::format("# {}\n\n{}\n", info.name, info.summary);
  writer.write_section("", "", info);
  writer.write_catalogs();
  return writer.text;
}

}  // namespace paceline::config
