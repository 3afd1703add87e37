#include "paceline/data/sources/image_list_columns.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace paceline::data {
namespace {

constexpr std::array<std::string_view, 6> kPathNames{"path",      "file",  "filename",
                                                     "file_name", "image", "image_path"};
constexpr std::array<std::string_view, 6> kLabelNames{"label",   "labels", "class",
                                                      "classes", "target", "tags"};
constexpr std::array<std::string_view, 3> kSplitNames{"split", "is_valid", "fold"};
constexpr std::string_view kNoColumn = "none";
constexpr std::size_t kMostNamed = 20;

/// Chooses among the columns those that are not taken.
class ColumnChoice {
 public:
  ColumnChoice(std::span<const std::string> names, const std::string& file)
      : names_(names), file_(file), is_taken_(names.size()) {}

  std::size_t take(std::size_t column) {
    is_taken_[column] = true;
    return column;
  }

  /// The column that a recipe's `key` names.
  std::size_t named(const std::string& name, std::string_view key) {
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return take(static_cast<std::size_t>(found - names_.begin()));
    const std::string near = base::nearest_name(name, names_);
    throw base::DataError(
        fmt::format("{}: has no column '{}', which {} names{}; its columns are {}", file_, name,
                    key, near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                    base::join_first(names_, kMostNamed)));
  }

  /// The first of the usual names that a column has, whatever their case.
  std::optional<std::size_t> usual(std::span<const std::string_view> usual_names) {
    for (const std::string_view name : usual_names) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (!is_taken_[i] && base::to_lower(names_[i]) == name) return take(i);
      }
    }
    return std::nullopt;
  }

  /// Columns without a name hold numbers of rows, as pandas writes them.
  std::size_t next(std::string_view what, std::string_view key) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!is_taken_[i] && !names_[i].empty()) return take(i);
    }
    throw base::DataError(fmt::format(
        "{}: has no column for {} beside {}; expected one for the images' paths and one for their "
        "labels between commas, tabs or semicolons ({})",
        file_, what, base::join_first(names_, kMostNamed), key));
  }

 private:
  std::span<const std::string> names_;
  const std::string& file_;
  std::vector<bool> is_taken_;
};

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_one_of(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

enum class NamedPart { kTrain, kVal, kTest };

std::optional<NamedPart> named_part(const std::string& text) {
  const std::string word = base::to_lower(text);
  if (is_one_of(word, {"train", "training", "false", "0"})) return NamedPart::kTrain;
  if (is_one_of(word, {"val", "valid", "validation", "dev", "true", "1"})) return NamedPart::kVal;
  if (is_one_of(word, {"test", "testing"})) return NamedPart::kTest;
  return std::nullopt;
}

/// Whether the column numbers folds: 0 and 1 alone are a yes and a no unless its name says so.
bool are_folds(std::span<const SplitText> texts, const std::string& column) {
  if (base::to_lower(column).find("fold") != std::string::npos) return true;
  return std::ranges::any_of(texts, [](const SplitText& text) {
    const auto number = number_in(text.text);
    return number && *number > 1;
  });
}

[[noreturn]] void fail_at(const SplitText& text, const std::string& column, const std::string& file,
                          std::string_view expected) {
  throw base::DataError(fmt::format(
      "{}, line {}: '{}' in the column {} does not say what the row is for: expected {}, or "
      "data.split_column=none",
      file, text.line, base::excerpt(text.text), column, expected));
}

std::vector<RowPart> parts_of_folds(std::span<const SplitText> texts, const std::string& column,
                                    const std::string& val_split, const std::string& file) {
  const auto chosen = number_in(val_split);
  std::vector<RowPart> parts;
  for (const SplitText& text : texts) {
    const auto number = number_in(text.text);
    if (!number) fail_at(text, column, file, "the number of a fold");
    parts.push_back(number == chosen ? RowPart::kValidation : RowPart::kTraining);
  }
  if (std::ranges::find(parts, RowPart::kValidation) != parts.end()) return parts;
  std::vector<std::string> folds;
  for (const SplitText& text : texts) folds.push_back(text.text);
  throw base::ConfigError(fmt::format(
      "data.val_split: {}: the column {} of {} numbers folds; name the one for validation, one of "
      "{}, or train on all by data.split_column=none",
      val_split.empty() ? "is not set" : fmt::format("there is no fold '{}'", val_split), column,
      file, base::join_first(folds, kMostNamed)));
}

}  // namespace

ImageListColumns find_columns(std::span<const std::string> names, const ImageListConfig& config,
                              const std::string& file) {
  ColumnChoice choice(names, file);
  std::optional<std::size_t> path;
  std::optional<std::size_t> label;
  ImageListColumns columns;
  const bool has_split = config.split_column != kNoColumn;
  if (config.path_column) path = choice.named(*config.path_column, "data.path_column");
  if (config.label_column) label = choice.named(*config.label_column, "data.label_column");
  if (config.split_column && has_split)
    columns.split = choice.named(*config.split_column, "data.split_column");
  if (!path) path = choice.usual(kPathNames);
  if (!label) label = choice.usual(kLabelNames);
  if (!columns.split && has_split) columns.split = choice.usual(kSplitNames);
  columns.path = path ? *path : choice.next("paths", "data.path_column");
  columns.label = label ? *label : choice.next("labels", "data.label_column");
  return columns;
}

std::vector<RowPart> parts_of(std::span<const SplitText> texts, const std::string& column,
                              const std::string& val_split, const std::string& file) {
  if (are_folds(texts, column)) return parts_of_folds(texts, column, val_split, file);
  std::vector<NamedPart> named;
  for (const SplitText& text : texts) {
    const auto part = named_part(text.text);
    if (!part) fail_at(text, column, file, "train, val, test, True or False");
    named.push_back(*part);
  }
  const bool has_val = std::ranges::find(named, NamedPart::kVal) != named.end();
  const auto wanted =
      val_split.empty() ? (has_val ? NamedPart::kVal : NamedPart::kTest) : named_part(val_split);
  if (!wanted || *wanted == NamedPart::kTrain)
    throw base::ConfigError(
        fmt::format("data.val_split: '{}' is no part for validation; expected val or test, as the "
                    "column {} of {} names them",
                    val_split, column, file));
  if (!val_split.empty() && std::ranges::find(named, *wanted) == named.end()) {
    throw base::ConfigError(fmt::format(
        "data.val_split: no row of {} is of '{}' in the column {}; leave it out, or name another",
        file, val_split, column));
  }
  std::vector<RowPart> parts;
  parts.reserve(named.size());
  for (const NamedPart part : named)
    parts.push_back(part == NamedPart::kTrain ? RowPart::kTraining
                    : part == *wanted         ? RowPart::kValidation
                                              : RowPart::kUnused);
  return parts;
}

}  // namespace paceline::data
