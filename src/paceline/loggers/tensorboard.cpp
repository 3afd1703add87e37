#include "paceline/loggers/tensorboard.h"

#include "paceline/loggers/async_sink.h"
#include "paceline/loggers/tensorboard_events.h"
#include "paceline/metrics/picture_png.h"

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
/// The last that has the ten digits of all others, in the year 2286; a later one is nobody's clock.
constexpr std::int64_t kLastSecond = 9'999'999'999;

/// Seconds for a file's name that sorts after those of all files there are: readers go by name, and
/// a resumed run may begin in the second in which the stopped one did.
std::int64_t seconds_for_name(const std::filesystem::path& directory, double now) {
  auto seconds = static_cast<std::int64_t>(now);
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t taken = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), taken);
    if (taken < kLastSecond) seconds = std::max(seconds, taken + 1);
  }
  return seconds;
}

}  // namespace

std::unique_ptr<metrics::MetricSink> make(const TensorboardConfig& config,
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
      clock_(clock),
      file_("tensorboard", [this] { return open(); }) {
  base::create_durable_directories(files_, directory_);
}

void TensorboardWriter::write(const Record& record) {
  records_.clear();
  last_step_ = std::max(last_step_, record.at.step);
  const double time = record.at.wall_time;
  switch (record.kind) {
    case RecordKind::kStep:
    case RecordKind::kEvent:
      for (std::size_t i = 0; i < record.num_values(); ++i) {
        append_record(records_, scalar_event(time, record.at.step, record.name(i),
                                             static_cast<float>(record.value(i))));
      }
      break;
    case RecordKind::kText:
      append_record(records_, text_event(time, record.at.step, record.tag, record.text));
      break;
    case RecordKind::kHparams:
      append_record(records_, hparams_start_event(time, run_name_, record.hparams));
      break;
  }
  if (!records_.empty()) file_.add(records_);
}

void TensorboardWriter::write_picture(const metrics::MetricStep& at,
                                      const metrics::Picture& picture) {
  records_.clear();
  last_step_ = std::max(last_step_, at.step);
  append_record(records_,
                image_event(at.wall_time, at.step, picture.name,
                            {picture.width, picture.height, metrics::encode_png(picture)}));
  file_.add(records_);
}

// Readers reload every few seconds; the writing thread calls this several times a second.
void TensorboardWriter::drained() { file_.write_out(); }

void TensorboardWriter::sync() { file_.sync(); }

void TensorboardWriter::resume_at(std::int64_t step) {
  file_.reset();
  first_step_ = step + 1;
  last_step_ = step;
  is_reopening_ = false;
}

std::unique_ptr<base::OutputFile> TensorboardWriter::open() {
  const double now = clock_.wall_s();
  const std::string file_name = fmt::format(
      "{}{:010}.{}.{}.0", kPrefix, seconds_for_name(directory_, now), host_name(), getpid());
  std::string header;
  append_record(header, file_version_event(now));
  append_record(header, session_start_event(now, is_reopening_ ? last_step_ + 1 : first_step_));
  const std::filesystem::path path = directory_ / file_name;
  auto file = files_.create(path);
  try {
    file->write(header);
    files_.sync_directory(directory_);
  } catch (...) {
    files_.remove_all(path);  // the next try makes another
    throw;
  }
  is_reopening_ = true;
  return file;
}

}  // namespace paceline::loggers
