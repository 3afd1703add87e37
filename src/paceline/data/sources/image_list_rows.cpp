#include "paceline/data/sources/image_list_rows.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/formats/table_reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace paceline::data {
namespace {

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace

/// Texts by their places, in the order in which they are met.
class ImageListRows::TextNumbers {
 public:
  /// The text's place, and whether it is new.
  std::pair<std::int32_t, bool> add(std::string_view text) {
    const auto next = static_cast<std::int32_t>(numbers_.size());
    const auto [found, is_new] = numbers_.emplace(text, next);
    return {found->second, is_new};
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> texts(numbers_.size());
    for (const auto& [text, number] : numbers_) texts[static_cast<std::size_t>(number)] = text;
    return texts;
  }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

class ImageListRows::Reader {
 public:
  Reader(TableReader& table, const ImageListConfig& config, ImageListRows& rows)
      : table_(table),
        config_(config),
        rows_(rows),
        columns_(find_columns(table.columns(), config, rows.file_)) {}

  void read(ListingProgress& progress) {
    constexpr std::int64_t kTellEvery = 1024;
    std::int64_t untold = 0;
    for (std::vector<std::string> cells; table_.next(cells);) {
      add_row(cells);
      if (++untold < kTellEvery) continue;
      progress.add(std::exchange(untold, 0));
    }
    progress.add(untold);
    rows_.label_texts_ = label_numbers_.texts();
    if (columns_.split)
      rows_.parts_ =
          parts_of(splits_, table_.columns()[*columns_.split], config_.val_split, rows_.file_);
  }

 private:
  void add_row(const std::vector<std::string>& cells) {
    const std::string_view path = text_in(cells, columns_.path);
    if (path.empty()) table_.fail("the path of the image is empty");
    rows_.paths_.append(path).append(config_.suffix);
    add_labels(text_in(cells, columns_.label));
    rows_.rows_.push_back(
        {rows_.paths_.size(), rows_.labels_.size(), table_.line(), add_split(cells)});
  }

  void add_labels(std::string_view text) {
    if (!config_.label_delimiter) return add_label(text);
    const std::size_t first = rows_.labels_.size();
    const std::string& delimiter = *config_.label_delimiter;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(delimiter), text.size());
      const std::string_view label = base::trim(text.substr(0, end));
      text.remove_prefix(std::min(end + delimiter.size(), text.size()));
      if (!label.empty()) add_label(label, first);
    }
  }

  void add_label(std::string_view text) { add_label(text, rows_.labels_.size()); }

  /// Unless the row, whose labels begin at `first`, has it already.
  void add_label(std::string_view text, std::size_t first) {
    const std::int32_t number = label_numbers_.add(text).first;
    const auto begin = rows_.labels_.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::find(begin, rows_.labels_.end(), number) == rows_.labels_.end())
      rows_.labels_.push_back(number);
  }

  std::int32_t add_split(const std::vector<std::string>& cells) {
    if (!columns_.split) return 0;
    const std::string_view text = text_in(cells, *columns_.split);
    const auto [number, is_new] = split_numbers_.add(text);
    if (is_new) splits_.push_back({std::string(text), table_.line()});
    return number;
  }

  /// Names go into reports and indices, where text is UTF-8 in one line.
  std::string_view text_in(const std::vector<std::string>& cells, std::size_t column) const {
    const std::string_view text = base::trim(cells[column]);
    const std::string& name = table_.columns()[column];
    if (base::find_invalid_utf8(text))
      table_.fail(fmt::format("the column '{}' is not UTF-8; save the file as that", name));
    if (has_control_character(text))
      table_.fail(fmt::format("the column '{}' has a control character in it: '{}'", name,
                              base::excerpt(text)));
    return text;
  }

  TableReader& table_;
  const ImageListConfig& config_;
  ImageListRows& rows_;
  const ImageListColumns columns_;
  TextNumbers label_numbers_;
  TextNumbers split_numbers_;
  std::vector<SplitText> splits_;
};

ImageListRows::ImageListRows(const InputFile& file, const ImageListConfig& config,
                             ListingProgress& progress)
    : file_(file.path()) {
  TableReader table(file);
  Reader(table, config, *this).read(progress);
  if (rows_.empty())
    throw base::DataError(
        fmt::format("{}: has a first line with the columns' names and no rows behind it", file_));
}

RowPart ImageListRows::part(std::size_t row) const {
  return has_parts() ? parts_[static_cast<std::size_t>(rows_[row].split)] : RowPart::kTraining;
}

std::string_view ImageListRows::path(std::size_t row) const {
  const std::size_t begin = row == 0 ? 0 : rows_[row - 1].path_end;
  return std::string_view(paths_).substr(begin, rows_[row].path_end - begin);
}

std::span<const std::int32_t> ImageListRows::labels(std::size_t row) const {
  const std::size_t begin = row == 0 ? 0 : rows_[row - 1].labels_end;
  return std::span(labels_).subspan(begin, rows_[row].labels_end - begin);
}

}  // namespace paceline::data
