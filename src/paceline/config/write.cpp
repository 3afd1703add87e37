#include "paceline/config/write.h"

#include "paceline/base/error.h"

namespace paceline::config {
namespace {

Node component_to_node(const Component& component, bool with_name) {
  Node node = Node::map();
  if (with_name)
    node.set("name", component.name.empty() ? Node{} : Node::scalar(component.name, true));
  if (component.options != nullptr) {
    for (const MapEntry& entry : options_of(component).entries) node.set(entry.key, entry.value);
  }
  return node;
}

Node container_to_node(const TypeInfo& type, const void* value) {
  Node node = type.kind == TypeKind::kMap ? Node::map() : Node::list();
  type.visit(value, [&](const std::string& key, const void* element) {
    if (type.kind == TypeKind::kList) {
      node.items.push_back(to_node(*type.element, element));
    } else if (type.element->kind == TypeKind::kComponent) {
      // In a map of components the key is the name.
      node.set(key, component_to_node(*static_cast<const Component*>(element), false));
    } else {
      node.set(key, to_node(*type.element, element));
    }
  });
  return node;
}

}  // namespace

Node to_node(const TypeInfo& type, const void* value) {
  switch (type.kind) {
    case TypeKind::kOptional: {
      Node node;
      type.visit(value, [&](const std::string&, const void* element) {
        node = to_node(*type.element, element);
      });
      return node;
    }
    case TypeKind::kList:
    case TypeKind::kMap:
      return container_to_node(type, value);
    case TypeKind::kStruct:
      return to_node(*type.structure, value);
    case TypeKind::kComponent:
      return component_to_node(*static_cast<const Component*>(value), true);
    default:
      return type.write(value);
  }
}

Node to_node(const StructInfo& info, const void* object) {
  Node node = Node::map();
  for (const FieldInfo& field : info.fields) {
    Node value = to_node(*field.type, field.member_of(object));
    if (!field.is_inline) {
      node.set(field.name, std::move(value));
      continue;
    }
    for (MapEntry& entry : value.entries) node.set(entry.key, std::move(entry.value));
  }
  return node;
}

Node options_of(const Component& component) {
  return to_node(*component.info, component.options.get());
}

}  // namespace paceline::config
