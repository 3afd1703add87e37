#pragma once

#include "paceline/loggers/record.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace paceline::loggers {

struct AsyncOptions {
  std::size_t capacity = 1024;            ///< records in the queue
  std::chrono::milliseconds period{100};  ///< between two rounds of the writing thread
};

/// Makes a MetricSink of a RecordWriter: copies what is logged into a ring and writes it on a
/// thread of its own. A call costs the caller a copy of names and values and no system call; it
/// waits only while the ring is full. A writer that throws is given up with a warning: the run goes
/// on without it.
class AsyncSink final : public metrics::MetricSink {
 public:
  explicit AsyncSink(std::unique_ptr<RecordWriter> writer, AsyncOptions options = {});
  /// Writes what is left.
  ~AsyncSink() override;

  AsyncSink(const AsyncSink&) = delete;
  AsyncSink& operator=(const AsyncSink&) = delete;

  std::string_view name() const override { return writer_->name(); }
  void log_step(const metrics::MetricStep& at,
                std::span<const metrics::MetricValue> values) override;
  void log_event(const metrics::MetricStep& at, std::string_view event,
                 std::span<const metrics::MetricValue> values) override;
  void log_text(const metrics::MetricStep& at, std::string_view tag,
                std::string_view text) override;
  void log_picture(const metrics::MetricStep& at, const metrics::Picture& picture) override;
  void log_hparams(std::span<const std::pair<std::string, std::string>> hparams) override;
  void resume_at(std::int64_t step) override;
  std::vector<std::filesystem::path> files_to_cut() const override {
    return writer_->files_to_cut();
  }
  void flush() override;
  std::vector<std::pair<std::string, double>> summarise() override;

 private:
  /// The next free record, waiting for one if need be; publish() hands it to the writer.
  Record& claim();
  void publish();
  void run();
  /// Gives the writer all that is queued. Needs writer_mutex_.
  void drain();
  /// Calls the writer, unless it was given up. Needs writer_mutex_.
  void call(const std::function<void()>& work);

  const AsyncOptions options_;
  std::vector<Record> ring_;
  std::atomic<std::uint64_t> num_published_{0};  ///< changed by the training thread only
  std::atomic<std::uint64_t> num_written_{0};    ///< changed under writer_mutex_ only

  std::mutex writer_mutex_;  ///< guards writer_ and has_given_up_
  std::unique_ptr<RecordWriter> writer_;
  bool has_given_up_ = false;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool is_wanted_ = false;  ///< a round is due before its time
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace paceline::loggers
