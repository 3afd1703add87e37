#include "paceline/data/ct/plugin/gzip_input.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <zlib.h>

namespace paceline::data {
namespace {

constexpr std::uint64_t kHighestRatio = 1032;  ///< of deflate, by its format
constexpr unsigned kBufferBytes = 1 << 18;
constexpr std::size_t kStepBytes = 1 << 20;  ///< of a read: zlib counts in 32 bits

/// zlib begins its messages with the path, which may say who the patient is.
std::string_view without_path(std::string_view message) {
  const std::size_t colon = message.rfind(": ");
  return colon == std::string_view::npos ? message : message.substr(colon + 2);
}

}  // namespace

void GzipInput::Close::operator()(gzFile_s* file) const { gzclose(file); }

GzipInput::GzipInput(const std::filesystem::path& path, std::string name) : name_(std::move(name)) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw base::DataError(fmt::format("{}: cannot be opened: {}; name a file that can be read",
                                      name_, error ? error.message() : "it is not a file"));
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  file_.reset(error ? nullptr : gzopen(path.c_str(), "rb"));
  if (file_ == nullptr) {
    throw base::DataError(fmt::format("{}: cannot be opened: {}; name a file that can be read",
                                      name_, error ? error.message() : std::strerror(errno)));
  }
  gzbuffer(file_.get(), kBufferBytes);
  most_bytes_ = size;
  if (gzdirect(file_.get()) == 0) most_bytes_ = (size + 1) * kHighestRatio;
}

std::size_t GzipInput::read_some(std::span<std::uint8_t> bytes) {
  const auto wanted = static_cast<unsigned>(std::min(bytes.size(), kStepBytes));
  const int got = gzread(file_.get(), bytes.data(), wanted);
  int status = Z_OK;
  const char* const reason = gzerror(file_.get(), &status);
  if (got < 0 || (status != Z_OK && status != Z_STREAM_END)) {
    if (status == Z_BUF_ERROR)
      throw base::DataError(fmt::format(
          "{}: is cut short: its gzip stream ends early; copy or export it again", name_));
    throw base::DataError(
        fmt::format("{}: is damaged: {}; copy or export it again", name_,
                    status == Z_ERRNO ? std::strerror(errno) : without_path(reason)));
  }
  return static_cast<std::size_t>(got);
}

void GzipInput::read(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::size_t got = read_some(bytes);
    if (got == 0) {
      throw base::DataError(fmt::format(
          "{}: is cut short: {} bytes are missing; copy or export it again", name_, bytes.size()));
    }
    bytes = bytes.subspan(got);
  }
}

void GzipInput::skip(std::uint64_t count) {
  std::array<std::uint8_t, 4096> dropped;
  while (count > 0) {
    const std::size_t step = std::min<std::uint64_t>(count, dropped.size());
    read(std::span(dropped).first(step));
    count -= step;
  }
}

void GzipInput::finish() {
  std::array<std::uint8_t, 4096> dropped;
  while (read_some(dropped) > 0) {
  }
}

}  // namespace paceline::data
