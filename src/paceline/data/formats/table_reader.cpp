#include "paceline/data/formats/table_reader.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr std::uint64_t kTableBufferBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMostRowBytes = std::size_t{1} << 20;

/// What starts a file in an encoding of two bytes a letter.
bool is_utf16(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 &&
         ((bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF));
}

}  // namespace

TableReader::TableReader(const InputFile& file) : file_(file) {
  peek();
  skip_byte_order_mark();
  choose_separator();
  do {
    if (!read_row(columns_))
      throw base::DataError(fmt::format(
          "{}: is empty; expected a first line with the columns' names and a row for each sample",
          file_.path()));
  } while (columns_.size() == 1 && columns_.front().empty());
  std::set<std::string_view> seen;
  for (std::string& name : columns_) {
    name = std::string(base::trim(name));
    if (base::find_invalid_utf8(name)) fail("the text is not UTF-8; save the file as that");
    if (!name.empty() && !seen.insert(name).second)
      fail(fmt::format("the column '{}' stands there twice; rename one", base::excerpt(name)));
  }
}

void TableReader::fail(const std::string& problem) const {
  throw base::DataError(fmt::format("{}, line {}: {}", file_.path(), line_, problem));
}

/// The next letter, or kEnd.
int TableReader::peek() {
  if (at_ == buffer_.size()) {
    const std::uint64_t left = file_.size() - std::min(file_.size(), behind_);
    if (left == 0) return kEnd;
    buffer_.resize(static_cast<std::size_t>(std::min(left, kTableBufferBytes)));
    file_.read_once(behind_, buffer_);
    behind_ += buffer_.size();
    at_ = 0;
  }
  return buffer_[at_];
}

int TableReader::take() {
  const int letter = peek();
  if (letter != kEnd) ++at_;
  return letter;
}

void TableReader::skip_byte_order_mark() {
  line_ = 1;
  if (is_utf16(buffer_)) fail("the file is in UTF-16; save it as UTF-8");
  constexpr std::array<std::uint8_t, 3> kMark{0xEF, 0xBB, 0xBF};
  if (buffer_.size() >= kMark.size() && std::equal(kMark.begin(), kMark.end(), buffer_.begin()))
    at_ = kMark.size();
}

void TableReader::choose_separator() {
  if (base::to_lower(file_.path()).ends_with(".tsv")) {
    separator_ = '\t';
    return;
  }
  const auto ends_line = [](std::uint8_t letter) { return letter == '\n' || letter == '\r'; };
  const auto begin = std::find_if_not(buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
                                      buffer_.end(), ends_line);
  const auto end = std::find_if(begin, buffer_.end(), ends_line);
  for (const char separator : {',', '\t', ';'}) {
    if (std::find(begin, end, static_cast<std::uint8_t>(separator)) == end) continue;
    separator_ = separator;
    return;
  }
}

void TableReader::add(std::string& cell, int letter) {
  cell += static_cast<char>(letter);
  if (++row_bytes_ > kMostRowBytes)
    fail("the row has more than a mebibyte: is a quote not closed, or is the file no table?");
}

/// Behind the opening quote, up to the closing one.
void TableReader::read_quoted(std::string& cell) {
  for (int letter = take();; letter = take()) {
    if (letter == kEnd) fail("a quote is not closed");
    if (letter == '"') {
      if (peek() != '"') return;
      take();
    }
    if (letter == '\n') ++next_line_;
    add(cell, letter);
  }
}

/// Returns what stands behind the cell: the separator, '\n' for any line end, or kEnd.
int TableReader::read_cell(std::string& cell) {
  cell.clear();
  ++row_bytes_;
  if (row_bytes_ > kMostRowBytes) fail("the row has more than a million cells");
  const bool is_quoted = peek() == '"';
  if (is_quoted) {
    take();
    read_quoted(cell);
  }
  for (int letter = take();; letter = take()) {
    if (letter == kEnd || letter == separator_) return letter;
    if (letter == '\r' && peek() == '\n') take();
    if (letter == '\r' || letter == '\n') {
      ++next_line_;
      return '\n';
    }
    if (is_quoted)
      fail("text stands behind a closing quote; a quote in a quoted cell is written twice");
    add(cell, letter);
  }
}

/// False at the end of the file.
bool TableReader::read_row(std::vector<std::string>& cells) {
  if (peek() == kEnd) return false;
  line_ = next_line_;
  row_bytes_ = 0;
  std::size_t count = 0;
  int behind = static_cast<unsigned char>(separator_);
  while (behind == separator_) {
    if (count == cells.size()) cells.emplace_back();  // others keep their memory
    behind = read_cell(cells[count++]);
  }
  cells.resize(count);
  return true;
}

bool TableReader::next(std::vector<std::string>& cells) {
  do {
    if (!read_row(cells)) return false;
  } while (columns_.size() > 1 && cells.size() == 1 && base::trim(cells.front()).empty());
  if (cells.size() != columns_.size())
    fail(
        fmt::format("has {} cells, and the first line names {} columns; a cell with a separator, "
                    "a quote or a line end in it is quoted",
                    cells.size(), columns_.size()));
  return true;
}

}  // namespace paceline::data
