#include "paceline/data/sources/image_list_index.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/index/label_lists.h"
#include "paceline/data/index/listing_progress.h"
#include "paceline/data/index/range_index_builder.h"
#include "paceline/data/sources/image_list_rows.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoClass = -1;

std::optional<std::int64_t> integer_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// As numbers if all are integers, else as texts.
void sort_classes(std::vector<std::string>& names) {
  std::ranges::sort(names);
  if (std::ranges::all_of(names, [](const auto& name) { return integer_in(name).has_value(); }))
    std::ranges::stable_sort(names, {}, [](const std::string& name) { return *integer_in(name); });
}

class IndexOfRows {
 public:
  IndexOfRows(const ImageListRows& rows, ListedSamples samples, bool has_lists)
      : rows_(rows), samples_(samples), has_lists_(has_lists), classes_(find_classes()) {}

  RangeIndex make(RangeIndexBuilder& builder, std::uint32_t source) const {
    const std::vector<std::int64_t> numbers = numbers_of_labels();
    std::vector<std::int64_t> labels;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!is_sample(row)) continue;
      labels.clear();
      for (const std::int32_t label : rows_.labels(row)) {
        labels.push_back(numbers[static_cast<std::size_t>(label)]);
        if (labels.back() == kNoClass) refuse_label(row, label);
      }
      add(builder, source, row, labels);
    }
    if (builder.size() == 0) refuse_no_samples();
    if (classes_.empty())
      throw base::DataError(fmt::format(
          "{}: no row has a label; name the column of labels by data.label_column", rows_.file()));
    return builder.finish(classes_);
  }

 private:
  void add(RangeIndexBuilder& builder, std::uint32_t source, std::size_t row,
           std::span<const std::int64_t> labels) const {
    const auto line = static_cast<std::uint64_t>(rows_.line(row));
    const std::int64_t first = labels.empty() ? 0 : labels.front();
    if (has_lists_) {
      builder.add(source, line, 0, first, name_with_labels(rows_.path(row), labels));
    } else {
      builder.add(source, line, 0, first, rows_.path(row));
    }
  }

  bool is_sample(std::size_t row) const {
    if (!rows_.has_parts()) return samples_ != ListedSamples::kValidation;
    const bool is_training = samples_ == ListedSamples::kTraining;
    return rows_.part(row) == (is_training ? RowPart::kTraining : RowPart::kValidation);
  }

  /// The labels of training rows, or if there are none those of the samples; sorted.
  std::vector<std::string> find_classes() const {
    std::vector<bool> is_of_training(rows_.label_texts().size());
    std::vector<bool> is_of_samples(rows_.label_texts().size());
    bool has_training = false;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const bool is_training = rows_.part(row) == RowPart::kTraining;
      has_training = has_training || is_training;
      for (const std::int32_t label : rows_.labels(row)) {
        const auto which = static_cast<std::size_t>(label);
        if (is_training) is_of_training[which] = true;
        if (is_sample(row)) is_of_samples[which] = true;
      }
    }
    const std::vector<bool>& is_class = has_training ? is_of_training : is_of_samples;
    std::vector<std::string> classes;
    for (std::size_t i = 0; i < is_class.size(); ++i) {
      const std::string& text = rows_.label_texts()[i];
      if (is_class[i] && !text.empty()) classes.push_back(text);
    }
    sort_classes(classes);
    return classes;
  }

  /// Of each text, its class; kNoClass of what is none.
  std::vector<std::int64_t> numbers_of_labels() const {
    std::unordered_map<std::string_view, std::int64_t> number_of;
    for (std::size_t i = 0; i < classes_.size(); ++i)
      number_of.emplace(classes_[i], static_cast<std::int64_t>(i));
    std::vector<std::int64_t> numbers;
    for (const std::string& text : rows_.label_texts()) {
      const auto found = number_of.find(text);
      numbers.push_back(found == number_of.end() ? kNoClass : found->second);
    }
    return numbers;
  }

  [[noreturn]] void refuse_label(std::size_t row, std::int32_t label) const {
    const std::string& text = rows_.label_texts()[static_cast<std::size_t>(label)];
    if (text.empty())
      throw base::DataError(
          fmt::format("{}, line {}: the label is empty; fill it in, remove the row, or set "
                      "data.label_delimiter for images of several classes or none",
                      rows_.file(), rows_.line(row)));
    throw base::DataError(fmt::format(
        "{}, line {}: no row for training has the label '{}' of this one; remove it, or add images "
        "of that class to train on",
        rows_.file(), rows_.line(row), base::excerpt(text)));
  }

  [[noreturn]] void refuse_no_samples() const {
    if (samples_ == ListedSamples::kTraining)
      throw AbsentPartError(fmt::format("{}: no row is for training", rows_.file()));
    throw AbsentPartError(fmt::format(
        "{}: {}", rows_.file(),
        rows_.has_parts() ? "no row is for validation"
                          : "no column says which rows are for validation (data.split_column)"));
  }

  const ImageListRows& rows_;
  const ListedSamples samples_;
  const bool has_lists_;
  const std::vector<std::string> classes_;
};

void require_list(const fs::path& file, const Storage& storage) {
  const std::optional<FileFacts> facts = storage.facts(file.string());
  if (facts && !facts->is_folder) return;
  throw base::DataError(
      fmt::format("{}: {}; set data.path to the CSV or TSV file that lists the images",
                  file.string(), facts ? "is a folder" : "there is no such file"));
}

std::string key_of(const fs::path& file, const ImageListConfig& config, ListedSamples samples) {
  std::string key =
      fmt::format("image_list 1 {} {}", static_cast<int>(samples), file.filename().string());
  for (const auto& setting :
       {config.path_column, config.label_column, config.split_column, config.label_delimiter,
        std::optional(config.val_split), std::optional(config.suffix)})
    key += setting ? fmt::format("\n={}", *setting) : "\n";
  return key;
}

RangeIndex make_index(const fs::path& file, const ImageListConfig& config, ListedSamples samples,
                      const std::string& key, const std::shared_ptr<const Storage>& storage) {
  require_list(file, *storage);
  RangeIndexBuilder builder(folder_of_list(file), key, storage);
  const std::uint32_t source = builder.add_source(file.filename());
  ListingProgress progress(file.string(), *storage);
  const ImageListRows rows(*storage->open(file.string()), config, progress);
  const bool must_have_parts = samples != ListedSamples::kValidationOrAll;
  if (must_have_parts && !config.val_split.empty() && !rows.has_parts())
    throw base::ConfigError(fmt::format(
        "data.val_split: is '{}', and no column of {} says what its rows are for; name one in "
        "data.split_column, or leave data.val_split out",
        config.val_split, file.string()));
  return IndexOfRows(rows, samples, config.label_delimiter.has_value()).make(builder, source);
}

}  // namespace

fs::path folder_of_list(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

RangeIndex open_image_list_index(const fs::path& file, const ImageListConfig& config,
                                 ListedSamples samples,
                                 const std::shared_ptr<const Storage>& storage) {
  const std::string key = key_of(file, config, samples);
  const std::string name = fmt::format("{}-{}", file.filename().string(),
                                       samples == ListedSamples::kTraining ? "train" : "val");
  const fs::path folder = folder_of_list(file);
  return load_or_make(
      index_files(folder, name), *storage,
      [&](const fs::path& index) { return RangeIndex::load(index, folder, key, storage); },
      [&] { return make_index(file, config, samples, key, storage); });
}

}  // namespace paceline::data
