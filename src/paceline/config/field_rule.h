#pragma once

#include "paceline/config/node.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::config {

enum class RuleKind {
  kAtLeast,
  kAtMost,
  kMoreThan,
  kLessThan,
  kInRange,
  kOneOf,
  kNotEmpty,
  kPlainName,
  kPath,
  kRequired,
  kMayChangeOnResume,
};

/// What a field's declaration says beyond its type. Written by the names below: AtLeast{0}.
///
/// Limits hold for a number, for the count of a duration, for each element of a list or map, and
/// for the value of an optional that is not null.
struct FieldRule {
  static constexpr std::size_t kMostChoices = 16;

  RuleKind kind;
  double low = 0;
  double high = 0;
  std::array<std::string_view, kMostChoices> choices{};
  std::size_t num_choices = 0;
  std::string_view reason = {};  ///< why there is a limit, for the message; may be empty

  /// "at least 0", "one of a, b"; empty for markers, which constrain no value.
  std::string text() const;
  /// What is wrong with a value of the right type ("must be at least 0, got -1"), or nothing.
  std::optional<std::string> violation(const Node& value) const;
};

struct AtLeast : FieldRule {
  constexpr explicit AtLeast(double limit) : FieldRule{RuleKind::kAtLeast, limit} {}
};
struct AtMost : FieldRule {
  constexpr explicit AtMost(double limit, std::string_view why = {})
      : FieldRule{RuleKind::kAtMost, 0, limit} {
    reason = why;
  }
};
struct MoreThan : FieldRule {
  constexpr explicit MoreThan(double limit) : FieldRule{RuleKind::kMoreThan, limit} {}
};
struct LessThan : FieldRule {
  constexpr explicit LessThan(double limit) : FieldRule{RuleKind::kLessThan, 0, limit} {}
};
/// Both ends included.
struct InRange : FieldRule {
  constexpr InRange(double lowest, double highest)
      : FieldRule{RuleKind::kInRange, lowest, highest} {}
};
/// A string that is one of these.
struct OneOf : FieldRule {
  template <class... Names>
  constexpr explicit OneOf(Names... names)
      : FieldRule{RuleKind::kOneOf, 0, 0, {std::string_view(names)...}, sizeof...(names)} {}
};
/// A string, list or map that is not empty.
struct NotEmpty : FieldRule {
  constexpr NotEmpty() : FieldRule{RuleKind::kNotEmpty} {}
};
/// A string that names a file or folder in another one: not empty, without '/', not "." or "..".
struct PlainName : FieldRule {
  constexpr PlainName() : FieldRule{RuleKind::kPlainName} {}
};
/// A string that names a file or folder: BindContext::resolve_path makes of it what is meant.
struct Path : FieldRule {
  constexpr Path() : FieldRule{RuleKind::kPath} {}
};
/// The key must be written: there is no default.
struct Required : FieldRule {
  constexpr Required() : FieldRule{RuleKind::kRequired} {}
};
/// The key, and all below it, may differ when a run is resumed; other keys may not.
struct MayChangeOnResume : FieldRule {
  constexpr MayChangeOnResume() : FieldRule{RuleKind::kMayChangeOnResume} {}
};

}  // namespace paceline::config
