#include "paceline/loggers/picture_files.h"

#include "paceline/base/log.h"
#include "paceline/metrics/picture_png.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::loggers {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepFolder = "step-";

/// The folders of steps by their steps, the newest first.
std::vector<std::pair<std::int64_t, fs::path>> step_folders(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kStepFolder)) continue;
    std::int64_t step = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + kStepFolder.size(), end, step);
    if (read.ec == std::errc() && read.ptr == end) found.emplace_back(step, entry.path());
  }
  std::ranges::sort(found, std::greater<>());
  return found;
}

}  // namespace

void write_picture(base::FileSystem& files, const fs::path& folder,
                   const metrics::Picture& picture) {
  std::string name = picture.name;
  std::ranges::replace(name, '/', '_');
  base::write_file_atomically(files, folder / (name + ".png"), metrics::encode_png(picture));
}

PictureFiles::PictureFiles(fs::path folder, std::int64_t keep, base::FileSystem& files)
    : folder_(std::move(folder)), keep_(keep), files_(files) {}

PictureFiles::~PictureFiles() { flush(); }

void PictureFiles::log_picture(const metrics::MetricStep& at, const metrics::Picture& picture) {
  const std::lock_guard lock(mutex_);
  auto write_next = [this, before = std::move(writing_), step = at.step, picture] {
    if (before.valid()) before.wait();
    write(step, picture);
  };
  writing_ = std::async(std::launch::async, std::move(write_next)).share();
}

void PictureFiles::write(std::int64_t step, const metrics::Picture& picture) {
  try {
    const fs::path folder = folder_ / fmt::format("{}{:08}", kStepFolder, step);
    files_.create_directory(folder_);  // not the run's, whose loss must show
    files_.create_directory(folder);
    write_picture(files_, folder, picture);
    remove_old();
  } catch (const std::exception& error) {
    if (num_failures_++ == 0)
      base::log_warning("the pictures logger could not write one: {}. The run goes on without it",
                        error.what());
  }
}

void PictureFiles::remove_old() const {
  const auto folders = step_folders(folder_);
  for (auto i = static_cast<std::size_t>(keep_); i < folders.size(); ++i)
    files_.remove_all(folders[i].second);
}

void PictureFiles::resume_at(std::int64_t step) {
  flush();
  for (const auto& [of, folder] : step_folders(folder_)) {
    if (of > step) files_.remove_all(folder);
  }
}

void PictureFiles::flush() {
  std::shared_future<void> writing;
  {
    const std::lock_guard lock(mutex_);
    writing = writing_;
  }
  if (writing.valid()) writing.wait();
}

std::vector<std::pair<std::string, double>> PictureFiles::summarise() {
  flush();
  if (num_failures_ == 0) return {};
  return {{"failed_writes", static_cast<double>(num_failures_)}};
}

std::unique_ptr<metrics::MetricSink> make(const PictureFilesConfig& config,
                                          const SinkContext& context) {
  return std::make_unique<PictureFiles>(context.run_directory / config.directory, config.keep,
                                        *context.files);
}

}  // namespace paceline::loggers
