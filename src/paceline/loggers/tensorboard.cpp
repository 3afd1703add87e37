#include "paceline/loggers/tensorboard.h"

#include "paceline/loggers/async_sink.h"
#include "paceline/loggers/tensorboard_events.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::loggers {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

constexpr std::string_view kPrefix = "events.out.tfevents.";

/// Seconds for a file's name that sorts after those of all files there are: readers go by name, and
/// a resumed run may begin in the second in which the stopped one did.
std::int64_t seconds_for_name(const std::filesystem::path& directory, double now) {
  auto seconds = static_cast<std::int64_t>(now);
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t taken = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), taken);
    seconds = std::max(seconds, taken + 1);
  }
  return seconds;
}

}  // namespace

std::unique_ptr<metrics::MetricSink> make_tensorboard_sink(const TensorboardConfig& config,
                                                           const SinkContext& context) {
  static const base::SystemClock clock;
  const std::filesystem::path run = context.run_directory.lexically_normal();
  const std::string run_name = (run.has_filename() ? run : run.parent_path()).filename().string();
  return std::make_unique<AsyncSink>(std::make_unique<TensorboardWriter>(
      context.run_directory / config.directory, run_name, *context.files, clock));
}

TensorboardWriter::TensorboardWriter(std::filesystem::path directory, std::string run_name,
                                     base::FileSystem& files, const base::Clock& clock)
    : directory_(std::move(directory)),
      run_name_(std::move(run_name)),
      files_(files),
      clock_(clock) {}

void TensorboardWriter::write(const Record& record) {
  if (!file_) open();
  const double time = record.at.wall_time;
  switch (record.kind) {
    case RecordKind::kStep:
    case RecordKind::kEvent:
      for (std::size_t i = 0; i < record.num_values(); ++i) {
        append_record(buffer_, scalar_event(time, record.at.step, record.name(i),
                                            static_cast<float>(record.value(i))));
      }
      break;
    case RecordKind::kText:
      append_record(buffer_, text_event(time, record.at.step, record.tag, record.text));
      break;
    case RecordKind::kHparams:
      append_record(buffer_, hparams_start_event(time, run_name_, record.hparams));
      break;
  }
}

// Readers reload every few seconds; the writing thread calls this several times a second.
void TensorboardWriter::drained() {
  if (buffer_.empty()) return;
  file_->write(buffer_);
  buffer_.clear();
}

void TensorboardWriter::sync() {
  if (!file_) return;
  drained();
  file_->sync();
}

void TensorboardWriter::resume_at(std::int64_t step) {
  file_.reset();
  first_step_ = step + 1;
}

void TensorboardWriter::open() {
  files_.create_directories(directory_);
  const double now = clock_.wall_s();
  const std::string file_name = fmt::format(
      "{}{:010}.{}.{}.0", kPrefix, seconds_for_name(directory_, now), host_name(), getpid());
  file_ = files_.create(directory_ / file_name);
  append_record(buffer_, file_version_event(now));
  append_record(buffer_, session_start_event(now, first_step_));
}

}  // namespace paceline::loggers
