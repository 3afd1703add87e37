#pragma once

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/component.h"
#include "paceline/config/duration.h"
#include "paceline/config/sides.h"
#include "paceline/config/struct_info.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace paceline::config {

template <class E>
struct EnumName {
  E value;
  std::string_view name;
};
template <class E>
EnumName(E, std::string_view) -> EnumName<E>;

/// The names of an enum's values; specialise it as
///   template <> struct EnumNames<Mode> {
///     static constexpr std::array names{EnumName{Mode::kMin, "min"}, EnumName{Mode::kMax, "max"}};
///   };
template <class E>
struct EnumNames;

/// The name of an enum's value. Throws InternalError for a value without one.
template <class E>
std::string_view enum_name(E value) {
  for (const auto& entry : EnumNames<E>::names) {
    if (entry.value == value) return entry.name;
  }
  throw base::InternalError("an enum value has no name in its EnumNames");
}

/// All of them, in their order.
template <class E>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const auto& entry : EnumNames<E>::names) names.emplace_back(entry.name);
  return names;
}

/// The value of that name. Throws ConfigError where there is none.
template <class E>
E enum_value(std::string_view name) {
  for (const auto& entry : EnumNames<E>::names) {
    if (entry.name == name) return entry.value;
  }
  throw base::ConfigError(
      fmt::format("expected one of {}; got {}", base::join(enum_names<E>(), ", "), name));
}

/// How a field of type T is read and written; the specialisations below are all there are.
template <class T>
struct TypeOf;

namespace detail {

// What is read from one node: nothing if all went well, else what is wrong with it.
using Complaint = std::optional<std::string>;

Complaint read_bool(const Node& node, bool& value);
Complaint read_integer(const Node& node, std::int64_t lowest, std::int64_t highest,
                       std::int64_t& value);
Complaint read_number(const Node& node, double& value);
Complaint read_string(const Node& node, std::string& value);
Complaint read_choice(const Node& node, std::span<const std::string> names, std::size_t& index);
Complaint read_duration(const Node& node, Duration& value);
Complaint read_duration_list(const Node& node, DurationList& value);
Complaint read_sections(const Node& node, Sections& value);
Complaint read_sides(const Node& node, Sides& value);

Node write_bool(bool value);
Node write_integer(std::int64_t value);
Node write_number(double value);
Node write_duration_list(const DurationList& value);
Node write_sections(const Sections& value);
Node write_sides(const Sides& value);

using TypePtr = std::shared_ptr<const TypeInfo>;

template <class T, class Read, class Write>
TypePtr leaf(TypeKind kind, std::string name, Read read, Write write) {
  auto type = std::make_shared<TypeInfo>();
  type->kind = kind;
  type->name = std::move(name);
  type->read = [read](const Node& node, void* value) {
    return read(node, *static_cast<T*>(value));
  };
  type->write = [write](const void* value) { return write(*static_cast<const T*>(value)); };
  return type;
}

inline std::shared_ptr<TypeInfo> container(TypeKind kind, std::string name, TypePtr element) {
  auto type = std::make_shared<TypeInfo>();
  type->kind = kind;
  type->name = std::move(name);
  type->element = std::move(element);
  return type;
}

}  // namespace detail

template <>
struct TypeOf<bool> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<bool>(TypeKind::kBool, "true or false", detail::read_bool,
                              detail::write_bool);
  }
};

template <std::integral T>
struct TypeOf<T> {
  // Files hold what a signed 64-bit number can say, whatever T is.
  static constexpr std::int64_t kHighest =
      std::in_range<std::int64_t>(std::numeric_limits<T>::max())
          ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
          : std::numeric_limits<std::int64_t>::max();
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<T>(
        TypeKind::kInteger, "integer",
        [](const Node& node, T& value) {
          std::int64_t wide = 0;
          auto complaint =
              detail::read_integer(node, std::numeric_limits<T>::min(), kHighest, wide);
          if (!complaint) value = static_cast<T>(wide);
          return complaint;
        },
        [](T value) { return detail::write_integer(static_cast<std::int64_t>(value)); });
  }
};

template <>
struct TypeOf<double> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<double>(TypeKind::kNumber, "number", detail::read_number,
                                detail::write_number);
  }
};

template <>
struct TypeOf<std::string> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<std::string>(
        TypeKind::kString, "text", detail::read_string,
        [](const std::string& value) { return Node::scalar(value, true); });
  }
};

template <>
struct TypeOf<Duration> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<Duration>(
        TypeKind::kDuration, "duration", detail::read_duration,
        [](const Duration& value) { return Node::scalar(value.to_string()); });
  }
};

template <>
struct TypeOf<DurationList> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<DurationList>(TypeKind::kDurationList, "duration or list of them",
                                      detail::read_duration_list, detail::write_duration_list);
  }
};

template <>
struct TypeOf<Sections> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<Sections>(TypeKind::kSections, "map of name to section",
                                  detail::read_sections, detail::write_sections);
  }
};

template <>
struct TypeOf<Sides> {
  static detail::TypePtr make(std::string_view) {
    return detail::leaf<Sides>(TypeKind::kSides, "integer or list of them", detail::read_sides,
                               detail::write_sides);
  }
};

template <class E>
requires std::is_enum_v<E>
struct TypeOf<E> {
  static detail::TypePtr make(std::string_view) {
    auto type = std::make_shared<TypeInfo>();
    type->kind = TypeKind::kEnum;
    for (const auto& entry : EnumNames<E>::names) {
      type->choices.emplace_back(entry.name);
      type->name += (type->name.empty() ? "" : " | ") + std::string(entry.name);
    }
    type->read = [names = type->choices](const Node& node, void* value) {
      std::size_t index = 0;
      auto complaint = detail::read_choice(node, names, index);
      if (!complaint) *static_cast<E*>(value) = EnumNames<E>::names[index].value;
      return complaint;
    };
    type->write = [](const void* value) {
      return Node::scalar(std::string(enum_name(*static_cast<const E*>(value))));
    };
    return type;
  }
};

template <class T>
struct TypeOf<std::optional<T>> {
  static detail::TypePtr make(std::string_view kind) {
    auto element = TypeOf<T>::make(kind);
    auto type = detail::container(TypeKind::kOptional, element->name + " or null", element);
    type->add = [](void* value, const std::string&, std::size_t) -> void* {
      return &static_cast<std::optional<T>*>(value)->emplace();
    };
    type->clear = [](void* value) { static_cast<std::optional<T>*>(value)->reset(); };
    type->visit = [](const void* value, const ElementVisitor& visitor) {
      const auto& optional = *static_cast<const std::optional<T>*>(value);
      if (optional) visitor("", &*optional);
    };
    return type;
  }
};

template <class T>
struct TypeOf<std::vector<T>> {
  static_assert(!std::is_same_v<T, bool>, "a list of bools has no addressable elements");
  static detail::TypePtr make(std::string_view kind) {
    auto element = TypeOf<T>::make(kind);
    auto type = detail::container(TypeKind::kList, "list of " + element->name, element);
    type->add = [](void* value, const std::string&, std::size_t) -> void* {
      return &static_cast<std::vector<T>*>(value)->emplace_back();
    };
    type->clear = [](void* value) { static_cast<std::vector<T>*>(value)->clear(); };
    type->visit = [](const void* value, const ElementVisitor& visitor) {
      for (const T& item : *static_cast<const std::vector<T>*>(value)) visitor("", &item);
    };
    return type;
  }
};

template <class T, std::size_t N>
struct TypeOf<std::array<T, N>> {
  static detail::TypePtr make(std::string_view kind) {
    auto element = TypeOf<T>::make(kind);
    auto type = detail::container(TypeKind::kList,
                                  "list of " + std::to_string(N) + " x " + element->name, element);
    type->fixed_size = N;
    type->add = [](void* value, const std::string&, std::size_t index) -> void* {
      return &static_cast<std::array<T, N>*>(value)->at(index);
    };
    type->clear = [](void*) {};
    type->visit = [](const void* value, const ElementVisitor& visitor) {
      for (const T& item : *static_cast<const std::array<T, N>*>(value)) visitor("", &item);
    };
    return type;
  }
};

template <class T>
struct TypeOf<std::map<std::string, T>> {
  static detail::TypePtr make(std::string_view kind) {
    auto element = TypeOf<T>::make(kind);
    auto type = detail::container(TypeKind::kMap, "map of name to " + element->name, element);
    type->add = [](void* value, const std::string& key, std::size_t) -> void* {
      return &(*static_cast<std::map<std::string, T>*>(value))[key];
    };
    type->clear = [](void* value) { static_cast<std::map<std::string, T>*>(value)->clear(); };
    type->visit = [](const void* value, const ElementVisitor& visitor) {
      for (const auto& [key, item] : *static_cast<const std::map<std::string, T>*>(value)) {
        visitor(key, &item);
      }
    };
    return type;
  }
};

template <>
struct TypeOf<Component> {
  static detail::TypePtr make(std::string_view kind) {
    auto type = std::make_shared<TypeInfo>();
    type->kind = TypeKind::kComponent;
    type->name = std::string(kind);
    type->component_kind = std::string(kind);
    return type;
  }
};

/// Every other type is a struct with a Schema.
template <class T>
requires std::is_class_v<T>
struct TypeOf<T> {
  static detail::TypePtr make(std::string_view) {
    auto type = std::make_shared<TypeInfo>();
    type->kind = TypeKind::kStruct;
    type->structure = &describe<T>();
    type->name = "section";
    return type;
  }
};

}  // namespace paceline::config
