#pragma once

#include "paceline/data/storage/input_file.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paceline::data {

/// The rows of a text file of cells, which begins with the columns' names: CSV as RFC 4180 has it
/// (quotes around a cell, doubled within it; line ends of any kind; a byte order mark is passed
/// over), and the same between tabs or semicolons. Reads the file once, from its start to its end.
///
/// Cells are separated by tabs if the file is called .tsv; else by the first of comma, tab and
/// semicolon that its first line has.
class TableReader {
 public:
  /// The file must outlive it. Throws DataError that names the file: without a first line, or where
  /// that names a column twice.
  explicit TableReader(const InputFile& file);

  /// The columns' names; one may be empty, as that of the index that pandas writes.
  const std::vector<std::string>& columns() const { return columns_; }

  /// The cells of the next row, as many as there are columns; lines without any text are passed
  /// over. False at the end. Throws DataError that names file and line: a row with another number
  /// of cells, a quote that is not closed, a row of more than a mebibyte.
  bool next(std::vector<std::string>& cells);

  /// Of the file, on which the last row began; from 1.
  std::int64_t line() const { return line_; }

  /// Throws DataError that names the file and the line of the last row.
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  static constexpr int kEnd = -1;

  int peek();
  int take();
  void add(std::string& cell, int letter);
  void read_quoted(std::string& cell);
  int read_cell(std::string& cell);
  bool read_row(std::vector<std::string>& cells);
  void choose_separator();
  void skip_byte_order_mark();

  const InputFile& file_;
  std::vector<std::uint8_t> buffer_;
  std::size_t at_ = 0;        ///< in the buffer
  std::uint64_t behind_ = 0;  ///< place in the file behind the buffer
  char separator_ = ',';
  std::vector<std::string> columns_;
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;  ///< on which the next letter stands
  std::size_t row_bytes_ = 0;   ///< of the row that is being read
};

}  // namespace paceline::data
