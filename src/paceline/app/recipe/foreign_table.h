#pragma once

#include <span>
#include <string_view>

namespace paceline::app {

/// Which values of a foreign name a row of the table is for.
enum class GivenValue { kAny, kZero, kShare, kWhole, kAboveZero, kMap, kOverride };

/// A name that another trainer or launcher uses, and what to write here.
struct ForeignName {
  std::string_view name;  ///< lower case, with '_'
  /// Ours, such as "train.duration", or an option such as "--nproc"; may be empty.
  std::string_view key;
  std::string_view value;  ///< what to write, where {} is the user's value; empty: {}
  /// Where it differs, or all that is to be said, where {} is the user's value; may be empty.
  std::string_view remark;
  GivenValue when = GivenValue::kAny;
};

/// Another trainer's spelling of a value.
struct ForeignValue {
  std::string_view key;  ///< the last part of ours
  std::string_view foreign;
  std::string_view ours;
};

/// The one table of foreign names; of a name's rows the first that fits the value counts.
std::span<const ForeignName> foreign_names();
std::span<const ForeignValue> foreign_values();

}  // namespace paceline::app
