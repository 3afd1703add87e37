#include "paceline/data/remote/plugin/arrow_input.h"

#include <algorithm>
#include <exception>

namespace paceline::data {
namespace {

/// Carries a stop through Arrow: what is being caught where one is made.
class StopDetail final : public arrow::StatusDetail {
 public:
  static constexpr const char* kTypeId = "paceline::StopDetail";
  const char* type_id() const override { return kTypeId; }
  std::string ToString() const override { return "stopped"; }
  [[noreturn]] void rethrow() const { std::rethrow_exception(stop_); }

 private:
  std::exception_ptr stop_ = std::current_exception();
};

/// Arrow may read on threads of its own, which no exception may leave.
arrow::Status read_into(const InputFile& file, std::int64_t position, std::int64_t count,
                        void* target) {
  try {
    file.read(static_cast<std::uint64_t>(position),
              {static_cast<std::uint8_t*>(target), static_cast<std::size_t>(count)});
    return arrow::Status::OK();
  } catch (const base::Interrupted& stop) {
    return arrow::Status::IOError(stop.what()).WithDetail(std::make_shared<StopDetail>());
  } catch (const std::exception& error) {
    return arrow::Status::IOError(error.what());
  }
}

}  // namespace

void rethrow_stop(const arrow::Status& status) {
  const auto& detail = status.detail();
  if (detail != nullptr && std::string_view(detail->type_id()) == StopDetail::kTypeId)
    static_cast<const StopDetail&>(*detail).rethrow();
}

arrow::Result<std::int64_t> ArrowInput::GetSize() {
  return static_cast<std::int64_t>(file_->size());
}

arrow::Result<std::int64_t> ArrowInput::ReadAt(std::int64_t position, std::int64_t count,
                                               void* target) {
  const auto size = static_cast<std::int64_t>(file_->size());
  if (position < 0 || count < 0 || position > size)
    return arrow::Status::Invalid("a place outside of the file is named in it");
  count = std::min(count, size - position);
  ARROW_RETURN_NOT_OK(read_into(*file_, position, count, target));
  return count;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowInput::ReadAt(std::int64_t position,
                                                                 std::int64_t count) {
  const auto size = static_cast<std::int64_t>(file_->size());
  const std::int64_t left =
      std::clamp<std::int64_t>(count, 0, std::max<std::int64_t>(size - position, 0));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(left));
  ARROW_RETURN_NOT_OK(ReadAt(position, left, buffer->mutable_data()));
  return buffer;
}

arrow::Result<std::int64_t> ArrowInput::Read(std::int64_t count, void* target) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t done, ReadAt(position_, count, target));
  position_ += done;
  return done;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowInput::Read(std::int64_t count) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, count));
  position_ += buffer->size();
  return buffer;
}

arrow::Status ArrowInput::Seek(std::int64_t position) {
  position_ = position;
  return arrow::Status::OK();
}

std::shared_ptr<arrow::Buffer> PageStream::load() {
  return next(static_cast<std::int64_t>(end_ - position_));
}

std::shared_ptr<arrow::Buffer> PageStream::next(std::int64_t count) {
  count = std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(end_ - position_));
  const auto begin = static_cast<std::int64_t>(position_ - window_begin_);
  if (window_ != nullptr && position_ >= window_begin_ && begin + count <= window_->size())
    return arrow::SliceBuffer(window_, begin, count);
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(count));
  file_.read(position_, {buffer->mutable_data(), static_cast<std::size_t>(count)});
  window_ = buffer;
  window_begin_ = position_;
  return buffer;
}

// The page reader looks at what may be a header, takes the header, then the content.
arrow::Result<std::string_view> PageStream::Peek(std::int64_t count) {
  const std::shared_ptr<arrow::Buffer> ahead = next(count);
  page_begin_ = position_;
  is_header_next_ = true;
  return std::string_view(reinterpret_cast<const char*>(ahead->data()),
                          static_cast<std::size_t>(ahead->size()));
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PageStream::Read(std::int64_t count) {
  if (is_content_skipped_) {
    is_content_skipped_ = false;
    if (count < 0 || static_cast<std::uint64_t>(count) > end_ - position_)
      return arrow::Status::Invalid("a page ends behind its column");
    position_ += static_cast<std::uint64_t>(count);
    return std::make_shared<arrow::Buffer>(nullptr, 0);
  }
  const std::shared_ptr<arrow::Buffer> buffer = next(count);
  position_ += static_cast<std::uint64_t>(buffer->size());
  if (is_header_next_) content_begin_ = position_;
  is_header_next_ = false;
  return buffer;
}

arrow::Result<std::int64_t> PageStream::Read(std::int64_t count, void* target) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> buffer, Read(count));
  std::copy_n(buffer->data(), buffer->size(), static_cast<std::uint8_t*>(target));
  return buffer->size();
}

}  // namespace paceline::data
