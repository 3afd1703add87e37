#include "paceline/data/remote/plugin/parquet_writer.h"

#include "paceline/base/error.h"

#include <exception>
#include <string_view>
#include <utility>

#include <arrow/io/interfaces.h>
#include <fmt/format.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/schema.h>

namespace paceline::data {
namespace {

/// A file as Arrow writes it. Keeps what the file threw, which no exception of Arrow's can carry.
class FileSink final : public arrow::io::OutputStream {
 public:
  explicit FileSink(base::OutputFile& file) : file_(file) {}

  using arrow::io::OutputStream::Write;
  arrow::Status Write(const void* data, std::int64_t count) override {
    try {
      if (!failure_) {
        file_.write({static_cast<const char*>(data), static_cast<std::size_t>(count)});
        position_ += count;
        return arrow::Status::OK();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    return arrow::Status::IOError("the file cannot be written");
  }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  /// What it was, if a write failed.
  const std::exception_ptr& failure() const { return failure_; }

 private:
  base::OutputFile& file_;
  std::int64_t position_ = 0;
  std::exception_ptr failure_;
};

parquet::schema::NodePtr node_of(const ParquetField& field) {
  using parquet::Repetition;
  using parquet::schema::PrimitiveNode;
  switch (field.type) {
    case ParquetType::kInt64:
      return PrimitiveNode::Make(field.name, Repetition::REQUIRED, parquet::Type::INT64);
    case ParquetType::kDouble:
      return PrimitiveNode::Make(field.name, Repetition::REQUIRED, parquet::Type::DOUBLE);
    case ParquetType::kText:
      return PrimitiveNode::Make(field.name, Repetition::OPTIONAL, parquet::LogicalType::String(),
                                 parquet::Type::BYTE_ARRAY);
  }
  throw base::InternalError("unknown ParquetType");
}

std::shared_ptr<parquet::schema::GroupNode> schema_of(const std::vector<ParquetField>& fields) {
  parquet::schema::NodeVector nodes;
  for (const ParquetField& field : fields) nodes.push_back(node_of(field));
  return std::static_pointer_cast<parquet::schema::GroupNode>(
      parquet::schema::GroupNode::Make("schema", parquet::Repetition::REQUIRED, nodes));
}

std::shared_ptr<parquet::WriterProperties> properties() {
  return parquet::WriterProperties::Builder()
      .compression(parquet::Compression::SNAPPY)
      ->enable_page_checksum()
      ->created_by("paceline")
      ->build();
}

/// Writes a column's values in a row group.
class ColumnValues {
 public:
  ColumnValues(parquet::ColumnWriter& writer, std::int64_t num_rows)
      : writer_(writer), num_rows_(num_rows) {}

  void operator()(const std::vector<std::int64_t>& values) const {
    write<parquet::Int64Type>(values, nullptr, values.data());
  }
  void operator()(const std::vector<double>& values) const {
    write<parquet::DoubleType>(values, nullptr, values.data());
  }
  void operator()(const std::vector<std::optional<std::string>>& texts) const {
    std::vector<std::int16_t> levels;
    std::vector<parquet::ByteArray> values;
    for (const std::optional<std::string>& text : texts) {
      levels.push_back(text ? 1 : 0);
      if (text) values.emplace_back(std::string_view(*text));
    }
    write<parquet::ByteArrayType>(levels, levels.data(), values.data());
  }

 private:
  template <class Type>
  void write(const auto& rows, const std::int16_t* levels,
             const typename Type::c_type* values) const {
    auto* const typed = dynamic_cast<parquet::TypedColumnWriter<Type>*>(&writer_);
    PACELINE_CHECK(typed != nullptr && std::ssize(rows) == num_rows_,
                   "{} values for the {} rows of column '{}', or of another type", rows.size(),
                   num_rows_, writer_.descr()->name());
    typed->WriteBatch(num_rows_, levels, /*rep_levels=*/nullptr, values);
  }

  parquet::ColumnWriter& writer_;
  std::int64_t num_rows_;
};

class Writer final : public ParquetWriter {
 public:
  Writer(base::OutputFile& file, std::vector<ParquetField> fields)
      : fields_(std::move(fields)), sink_(std::make_shared<FileSink>(file)) {
    with_failures([&] {
      writer_ = parquet::ParquetFileWriter::Open(sink_, schema_of(fields_), properties());
    });
  }

  void write_rows(std::int64_t num_rows,
                  const std::function<ParquetValues(std::size_t column)>& values) override {
    with_failures([&] {
      parquet::RowGroupWriter& group = *writer_->AppendRowGroup();
      for (std::size_t column = 0; column < fields_.size(); ++column)
        std::visit(ColumnValues(*group.NextColumn(), num_rows), values(column));
      group.Close();
    });
  }

  void finish() override {
    with_failures([&] { writer_->Close(); });
  }

 private:
  /// Has what the file threw go on, and not what Arrow makes of it.
  template <class Action>
  void with_failures(Action action) {
    try {
      action();
    } catch (const base::Error&) {
      throw;
    } catch (const std::exception& error) {
      if (sink_->failure()) std::rethrow_exception(sink_->failure());
      throw base::DataError(fmt::format("cannot write Parquet: {}", error.what()));
    }
  }

  std::vector<ParquetField> fields_;
  std::shared_ptr<FileSink> sink_;
  std::unique_ptr<parquet::ParquetFileWriter> writer_;
};

}  // namespace

std::unique_ptr<ParquetWriter> make_parquet_writer(base::OutputFile& file,
                                                   std::vector<ParquetField> fields) {
  return std::make_unique<Writer>(file, std::move(fields));
}

}  // namespace paceline::data
