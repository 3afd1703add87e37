#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace paceline::data {

enum class ParquetType {
  kInt64,
  kDouble,
  kText,  ///< UTF-8, which is for the writer's caller to see to
};

/// A column of a table that is written.
struct ParquetField {
  std::string name;
  ParquetType type = ParquetType::kInt64;
};

/// A column's values in some rows, by its type; a text may be none.
using ParquetValues = std::variant<std::vector<std::int64_t>, std::vector<double>,
                                   std::vector<std::optional<std::string>>>;

/// Writes a table to a file, some rows after the other. Throws what the file throws, and DataError
/// where Arrow refuses.
class ParquetWriter {
 public:
  virtual ~ParquetWriter() = default;
  /// The next rows, as a row group; `values` is called for each column in turn, whose values need
  /// not be in memory together.
  virtual void write_rows(std::int64_t num_rows,
                          const std::function<ParquetValues(std::size_t column)>& values) = 0;
  /// Ends the file's content; without it there is none to read.
  virtual void finish() = 0;
};

}  // namespace paceline::data
