#pragma once

#include "paceline/config/component.h"
#include "paceline/config/field_rule.h"
#include "paceline/config/struct_info.h"
#include "paceline/config/type_info.h"
#include "paceline/config/write.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace paceline::config {

/// The fields of a config struct, each declared once; specialise it beside the struct:
///
///   struct SgdConfig {
///     double lr = 0.1;
///     double momentum = 0.9;
///   };
///   template <> struct Schema<SgdConfig> {
///     static constexpr std::string_view name = "sgd";
///     static constexpr std::string_view summary = "Stochastic gradient descent with momentum.";
///     static constexpr std::string_view paper = "";                         // optional
///     static constexpr auto fields = std::tuple{
///         field(&SgdConfig::lr, "lr", "Base learning rate.", AtLeast{0}),
///         field(&SgdConfig::momentum, "momentum", "Momentum factor.", InRange{0, 1})};
///     static void validate(const SgdConfig&, Problems&);                    // optional,
///     cross-field
///   };
///
/// The struct is an aggregate without bases or C arrays. In-class initialisers are the defaults. A
/// member that is missing from `fields` is a compile error. `validate` runs when all fields of the
/// struct are sound.
template <class T>
struct Schema;

template <class T, class M, std::size_t NumRules>
struct Field {
  M T::*member;
  std::string_view name;
  std::string_view help;
  std::array<FieldRule, NumRules> rules;
  std::string_view component_kind = {};
  bool is_inline = false;
};

/// A plain field. Types: bool, integers, double, std::string, Duration, DurationList, enums with
/// EnumNames, std::optional, std::vector, std::array, std::map<std::string, T>, structs with a
/// Schema.
template <class T, class M, class... Rules>
constexpr auto field(M T::*member, std::string_view name, std::string_view help, Rules... rules) {
  return Field<T, M, sizeof...(Rules)>{
      member, name, help, {static_cast<const FieldRule&>(rules)...}};
}

/// A section whose key `name` picks a component of the catalog of this kind (by default `name`
/// itself), beside the component's own keys. The member is a Component, or a std::vector of them.
template <class T, class M, class... Rules>
constexpr auto component(M T::*member, std::string_view name, std::string_view help,
                         Rules... rules) {
  auto declared = field(member, name, help, rules...);
  declared.component_kind = name;
  return declared;
}

/// A map from component names to their options, where null means the defaults. The member is a
/// ComponentMap.
template <class T, class... Rules>
constexpr auto component_map(ComponentMap T::*member, std::string_view name, std::string_view help,
                             Rules... rules) {
  return component(member, name, help, rules...);
}

/// A component whose `name` and own keys stand among the other fields of this struct, as in
/// data: {name: image_folder, path: ..., global_batch_size: 256}. `kind` names the catalog.
template <class T, class... Rules>
constexpr auto inline_component(Component T::*member, std::string_view kind, std::string_view help,
                                Rules... rules) {
  auto declared = component(member, kind, help, rules...);
  declared.is_inline = true;
  return declared;
}

/// The same declaration, with components looked up in the catalog of another kind than its name.
template <class T, class M, std::size_t N>
constexpr Field<T, M, N> of_kind(std::string_view kind, Field<T, M, N> declared) {
  declared.component_kind = kind;
  return declared;
}

namespace detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// Stands for a value of any type. Optionals take it through their own constructor, and a second way
// would be ambiguous.
struct AnyValue {
  template <class T>
  requires(!kIsOptional<T>) operator T()
      const;  // NOLINT(google-explicit-constructor): implicit on purpose
};

template <class T, std::size_t... I>
constexpr bool takes_values(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyValue{})...}; };
}

template <class T, std::size_t N = 0>
constexpr std::size_t count_members() {
  if constexpr (takes_values<T>(std::make_index_sequence<N + 1>{})) {
    return count_members<T, N + 1>();
  } else {
    return N;
  }
}

template <class T>
std::string paper_of() {
  if constexpr (requires { Schema<T>::paper; }) {
    return std::string(Schema<T>::paper);
  } else {
    return {};
  }
}

template <class T, class M, std::size_t N>
FieldInfo make_field(const Field<T, M, N>& declared, const T& defaults) {
  FieldInfo info;
  info.name = declared.name;
  info.help = declared.help;
  info.type = TypeOf<M>::make(declared.component_kind);
  info.rules.assign(declared.rules.begin(), declared.rules.end());
  info.is_inline = declared.is_inline;
  info.default_value = to_node(*info.type, &(defaults.*declared.member));
  info.member = [member = declared.member](void* object) -> void* {
    return &(static_cast<T*>(object)->*member);
  };
  return info;
}

template <class T>
StructInfo make_struct_info() {
  using Fields = std::remove_cvref_t<decltype(Schema<T>::fields)>;
  static_assert(std::is_aggregate_v<T>, "a config struct is a plain aggregate");
  static_assert(count_members<T>() == std::tuple_size_v<Fields>,
                "Schema<T>::fields must declare every member of T, once");
  StructInfo info;
  info.name = Schema<T>::name;
  info.summary = Schema<T>::summary;
  info.paper = paper_of<T>();
  info.make = [] { return std::shared_ptr<void>(std::make_shared<T>()); };
  const T defaults{};
  std::apply(
      [&](const auto&... declared) {
        (info.fields.push_back(make_field(declared, defaults)), ...);
      },
      Schema<T>::fields);
  if constexpr (requires(const T& object, Problems& problems) {
                  Schema<T>::validate(object, problems);
                }) {
    info.validate = [](const void* object, Problems& problems) {
      Schema<T>::validate(*static_cast<const T*>(object), problems);
    };
  }
  return info;
}

}  // namespace detail

/// The schema of T without its type; made once.
template <class T>
const StructInfo& describe() {
  static const StructInfo info = detail::make_struct_info<T>();
  return info;
}

}  // namespace paceline::config
