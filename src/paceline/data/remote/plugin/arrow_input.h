#pragma once

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/data/storage/input_file.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <parquet/exception.h>

namespace paceline::data {

/// An open file as Arrow reads it.
class ArrowInput final : public arrow::io::RandomAccessFile {
 public:
  explicit ArrowInput(std::shared_ptr<const InputFile> file) : file_(std::move(file)) {}

  arrow::Result<std::int64_t> GetSize() override;
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t count,
                                     void* target) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position,
                                                       std::int64_t count) override;
  arrow::Result<std::int64_t> Read(std::int64_t count, void* target) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t count) override;
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Seek(std::int64_t position) override;
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  std::shared_ptr<const InputFile> file_;
  std::int64_t position_ = 0;
};

/// The pages in bytes [begin, end) of a file as Arrow's page reader takes them.
class PageStream final : public arrow::io::InputStream {
 public:
  PageStream(const InputFile& file, std::uint64_t begin, std::uint64_t end)
      : file_(file), position_(begin), end_(end) {}

  /// Reads all at once, and not what is asked for one by one. Gives what it read.
  std::shared_ptr<arrow::Buffer> load();
  /// The content of the page whose header was read last is passed over unread.
  void skip_content() { is_content_skipped_ = true; }
  std::uint64_t page_begin() const { return page_begin_; }        ///< of its header
  std::uint64_t content_begin() const { return content_begin_; }  ///< behind its header
  std::uint64_t position() const { return position_; }

  arrow::Result<std::string_view> Peek(std::int64_t count) override;
  arrow::Result<std::int64_t> Read(std::int64_t count, void* target) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t count) override;
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  /// The next bytes, fewer at the end.
  std::shared_ptr<arrow::Buffer> next(std::int64_t count);

  const InputFile& file_;
  std::uint64_t position_;
  std::uint64_t end_;
  std::shared_ptr<arrow::Buffer> window_;  ///< what was read last
  std::uint64_t window_begin_ = 0;
  std::uint64_t page_begin_ = 0;
  std::uint64_t content_begin_ = 0;
  bool is_header_next_ = false;
  bool is_content_skipped_ = false;
};

/// Throws the Interrupted that a read of an ArrowInput ended with, if that is what failed.
void rethrow_stop(const arrow::Status& status);

/// What `action()` gives; whatever is thrown becomes a DataError that names the file `path`, but
/// for Interrupted.
template <class Action>
auto with_arrow(const std::string& path, Action action) {
  const auto named = [&](const std::string& problem) {
    return base::DataError(
        problem.find(path) == std::string::npos ? fmt::format("{}: {}", path, problem) : problem);
  };
  try {
    return action();
  } catch (const base::Interrupted&) {
    throw;
  } catch (const parquet::ParquetStatusException& error) {
    rethrow_stop(error.status());
    throw named(error.status().message());
  } catch (const std::exception& error) {
    throw named(error.what());
  }
}

}  // namespace paceline::data
