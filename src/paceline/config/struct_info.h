#pragma once

#include "paceline/config/field_rule.h"
#include "paceline/config/node.h"
#include "paceline/config/problems.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::config {

struct StructInfo;

enum class TypeKind {
  kBool,
  kInteger,
  kNumber,
  kString,
  kEnum,
  kDuration,
  kDurationList,
  kSides,
  kOptional,
  kList,
  kMap,
  kStruct,
  kComponent,
  kSections,
};

using ElementVisitor = std::function<void(const std::string& key, const void* element)>;

/// How values of one C++ type are read and written, with the type erased: `void*` points at such a
/// value.
struct TypeInfo {
  TypeKind kind = TypeKind::kNumber;
  std::string name;                         ///< "integer", "list of number": for people
  std::vector<std::string> choices;         ///< kEnum: the names
  std::shared_ptr<const TypeInfo> element;  ///< kOptional, kList, kMap
  std::size_t fixed_size = 0;               ///< kList of a fixed length, else 0
  const StructInfo* structure = nullptr;    ///< kStruct
  std::string component_kind;               ///< kComponent: which catalog knows the names

  /// Scalars, durations and kSections: sets the value, or says what is wrong with the node.
  std::function<std::optional<std::string>(const Node& node, void* value)> read;
  /// Likewise.
  std::function<Node(const void* value)> write;
  /// kOptional, kList, kMap: makes the element under this key (or index) and returns it.
  std::function<void*(void* value, const std::string& key, std::size_t index)> add;
  /// kOptional, kList, kMap: removes all elements.
  std::function<void(void* value)> clear;
  /// kOptional, kList, kMap: calls the visitor for each element, in order.
  std::function<void(const void* value, const ElementVisitor& visitor)> visit;
};

/// One declared field of a config struct.
struct FieldInfo {
  std::string name;
  std::string help;
  std::shared_ptr<const TypeInfo> type;
  std::vector<FieldRule> rules;
  bool is_inline = false;  ///< a component whose `name` and keys stand among this struct's own keys
  Node default_value;      ///< as written by the in-class initialiser
  std::function<void*(void* object)> member;  ///< the field of a struct

  bool has_rule(RuleKind kind) const;
  bool is_required() const { return has_rule(RuleKind::kRequired); }
  bool may_change_on_resume() const { return has_rule(RuleKind::kMayChangeOnResume); }
  const void* member_of(const void* object) const { return member(const_cast<void*>(object)); }
};

/// A config struct without its C++ type: what every printer and validator works on.
struct StructInfo {
  std::string name;
  std::string summary;
  std::string paper;  ///< may be empty
  std::vector<FieldInfo> fields;
  std::shared_ptr<void> (*make)() = nullptr;  ///< a default-constructed struct
  /// Cross-field rules; nullptr if the schema declares none.
  void (*validate)(const void* object, Problems& problems) = nullptr;

  const FieldInfo* find(std::string_view field_name) const;
  /// The inline component, or nullptr.
  const FieldInfo* inline_field() const;
};

}  // namespace paceline::config
