#include "paceline/loggers/async_sink.h"

#include "paceline/base/log.h"

namespace paceline::loggers {

AsyncSink::AsyncSink(std::unique_ptr<RecordWriter> writer, AsyncOptions options)
    : options_(options),
      ring_(options.capacity),
      writer_(std::move(writer)),
      thread_([this] { run(); }) {}

AsyncSink::~AsyncSink() {
  {
    const std::lock_guard lock(wake_mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  flush();
}

void AsyncSink::log_step(const metrics::MetricStep& at,
                         std::span<const metrics::MetricValue> values) {
  Record& record = claim();
  record.kind = RecordKind::kStep;
  record.at = at;
  record.set_values(values);
  publish();
}

void AsyncSink::log_event(const metrics::MetricStep& at, std::string_view event,
                          std::span<const metrics::MetricValue> values) {
  Record& record = claim();
  record.kind = RecordKind::kEvent;
  record.at = at;
  record.tag = event;
  record.set_values(values);
  publish();
}

void AsyncSink::log_text(const metrics::MetricStep& at, std::string_view tag,
                         std::string_view text) {
  Record& record = claim();
  record.kind = RecordKind::kText;
  record.at = at;
  record.tag = tag;
  record.text = text;
  publish();
}

void AsyncSink::log_picture(const metrics::MetricStep& at, const metrics::Picture& picture) {
  if (!writer_->shows_pictures()) return;
  auto copy = std::make_shared<const metrics::Picture>(picture);
  Record& record = claim();
  record.at = at;
  record.picture = std::move(copy);
  publish();
}

void AsyncSink::log_hparams(std::span<const std::pair<std::string, std::string>> hparams) {
  Record& record = claim();
  record.kind = RecordKind::kHparams;
  record.at = {};
  record.at.wall_time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  record.hparams.assign(hparams.begin(), hparams.end());
  publish();
}

void AsyncSink::resume_at(std::int64_t step) {
  const std::lock_guard lock(writer_mutex_);
  drain();
  writer_->resume_at(step);
}

void AsyncSink::flush() {
  const std::lock_guard lock(writer_mutex_);
  drain();
  call([this] { writer_->sync(); });
}

std::vector<std::pair<std::string, double>> AsyncSink::summarise() {
  flush();
  const std::lock_guard lock(writer_mutex_);
  if (has_given_up_) return {{"was_given_up", 1}};
  return writer_->failures();
}

Record& AsyncSink::claim() {
  const std::uint64_t next = num_published_.load(std::memory_order_relaxed);
  const auto queued = [&] { return next - num_written_.load(std::memory_order_acquire); };
  if (queued() >= options_.capacity / 2) {
    {
      const std::lock_guard lock(wake_mutex_);
      is_wanted_ = true;
    }
    wake_.notify_one();
    while (queued() >= options_.capacity) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ring_[next % options_.capacity];
}

void AsyncSink::publish() { num_published_.fetch_add(1, std::memory_order_release); }

void AsyncSink::run() {
  std::unique_lock wake_lock(wake_mutex_);
  while (!is_stopping_) {
    // A timed wait instead of a signal per record: a signal costs the training thread a system
    // call.
    wake_.wait_for(wake_lock, options_.period, [this] { return is_wanted_ || is_stopping_; });
    is_wanted_ = false;
    wake_lock.unlock();
    {
      const std::lock_guard writer_lock(writer_mutex_);
      drain();
    }
    wake_lock.lock();
  }
}

void AsyncSink::drain() {
  const std::uint64_t begin = num_written_.load(std::memory_order_relaxed);
  const std::uint64_t end = num_published_.load(std::memory_order_acquire);
  if (begin == end) return;
  for (std::uint64_t i = begin; i < end; ++i) {
    Record& record = ring_[i % options_.capacity];
    call([&] {
      if (record.picture) return writer_->write_picture(record.at, *record.picture);
      writer_->write(record);
    });
    record.picture.reset();
    num_written_.store(i + 1, std::memory_order_release);
  }
  call([this] { writer_->drained(); });
}

void AsyncSink::call(const std::function<void()>& work) {
  if (has_given_up_) return;
  try {
    work();
  } catch (const std::exception& error) {
    has_given_up_ = true;
    base::log_warning("the {} logger failed and is given up: {}. The run goes on without it",
                      writer_->name(), error.what());
  }
}

}  // namespace paceline::loggers
