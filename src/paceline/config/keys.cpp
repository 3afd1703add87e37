#include "paceline/config/keys.h"

#include "paceline/config/write.h"

#include <utility>

namespace paceline::config {
namespace {

class KeyLister {
 public:
  explicit KeyLister(const Catalogs& catalogs) : catalogs_(catalogs) {}

  // `defaults` is an object of the same struct with its defaults.
  void add_struct(const StructInfo& info, const void* object, const void* defaults,
                  const std::string& path, bool may_change) {
    for (const FieldInfo& field : info.fields) {
      const std::string key = field.is_inline ? path : join_path(path, field.name);
      add_value(*field.type, field, field.member_of(object), field.member_of(defaults), key,
                may_change || field.may_change_on_resume());
    }
  }

  std::vector<KeyView> take() { return std::move(keys_); }

 private:
  void add_value(const TypeInfo& type, const FieldInfo& field, const void* value,
                 const void* defaults, const std::string& key, bool may_change) {
    if (type.kind == TypeKind::kStruct) {
      add_struct(*type.structure, value, defaults, key, may_change);
    } else if (type.kind == TypeKind::kComponent) {
      const auto& component = *static_cast<const Component*>(value);
      const auto& default_choice = *static_cast<const Component*>(defaults);
      keys_.push_back({join_path(key, "name"), &field, true, Node::scalar(component.name, true),
                       Node::scalar(default_choice.name, true), may_change});
      add_options(type, component, key, may_change);
    } else if (type.kind == TypeKind::kMap && type.element->kind == TypeKind::kComponent) {
      type.visit(value, [&](const std::string& name, const void* element) {
        add_options(*type.element, *static_cast<const Component*>(element), join_path(key, name),
                    may_change);
      });
    } else {
      keys_.push_back(
          {key, &field, false, to_node(type, value), to_node(type, defaults), may_change});
    }
  }

  void add_options(const TypeInfo& type, const Component& component, const std::string& key,
                   bool may_change) {
    if (component.options == nullptr) return;
    const auto catalog = catalogs_.find(type.component_kind);
    const ComponentEntry* entry =
        catalog != catalogs_.end() ? catalog->second->find(component.name) : nullptr;
    const std::shared_ptr<void> defaults =
        entry != nullptr ? entry->make() : component.info->make();
    add_struct(*component.info, component.options.get(), defaults.get(), key, may_change);
  }

  const Catalogs& catalogs_;
  std::vector<KeyView> keys_;
};

}  // namespace

std::vector<KeyView> list_keys(const StructInfo& info, const void* object,
                               const Catalogs& catalogs) {
  KeyLister lister(catalogs);
  const std::shared_ptr<void> defaults = info.make();
  lister.add_struct(info, object, defaults.get(), "", false);
  return lister.take();
}

}  // namespace paceline::config
