#include "paceline/train/batch/epoch_pass.h"

#include "paceline/base/progress_line.h"
#include "paceline/comm/agreement.h"

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::train {
namespace {

using PassClock = std::chrono::steady_clock;

/// Batches whose memory may wait on a device that is slower than the loader.
constexpr std::int64_t kMostQueuedInPass = 4;

/// Says so many times a second on a terminal what is done, and in a pipe by tenths.
class PassProgress {
 public:
  explicit PassProgress(std::int64_t total) : total_(total) {}

  void update(std::int64_t done) {
    const auto now = PassClock::now();
    const std::int64_t tenth = done * 10 / total_;
    const auto pause =
        line_.is_terminal() ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000);
    if (now - last_ < pause || (!line_.is_terminal() && tenth == last_tenth_)) return;
    last_ = now;
    last_tenth_ = tenth;
    line_.say(fmt::format("statistics of BatchNorm: {} of {} batches", done, total_));
  }

 private:
  std::int64_t total_;
  base::ProgressLine line_;
  PassClock::time_point last_ = PassClock::now();
  std::int64_t last_tenth_ = 0;
};

}  // namespace

bool EpochPass::run(std::int64_t first, std::int64_t num_batches, const Look& look) {
  const auto begin = PassClock::now();
  std::optional<PassProgress> progress;
  if (communicator_.rank() == 0) progress.emplace(num_batches);
  feed_.seek(first);
  for (std::int64_t number = 0; number < num_batches; ++number) {
    std::optional<Batch> batch;
    if (received_signal_.load(std::memory_order_relaxed) == 0) batch = feed_.next_unless_stopped();
    if (comm::any_rank(communicator_, !batch)) return false;
    look(first + number, *std::move(batch));
    if (number + 1 < num_batches) feed_.prefetch();
    if (number % kMostQueuedInPass == kMostQueuedInPass - 1 && device_.is_asynchronous())
      device_.synchronize();
    if (progress) progress->update(number + 1);
  }
  seconds_ = std::chrono::duration<double>(PassClock::now() - begin).count();
  return true;
}

}  // namespace paceline::train
