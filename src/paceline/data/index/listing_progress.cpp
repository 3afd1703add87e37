#include "paceline/data/index/listing_progress.h"

#include "paceline/base/log.h"
#include "paceline/base/text.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::data {

ListingProgress::ListingProgress(std::string place, const Storage& storage,
                                 std::shared_ptr<const base::Clock> clock)
    : place_(std::move(place)),
      storage_(storage),
      clock_(std::move(clock)),
      start_s_(clock_->monotonic_s()),
      told_s_(start_s_) {}

void ListingProgress::add(std::int64_t samples) {
  constexpr double kTellEverySeconds = 10;
  storage_.check_interruption(fmt::format("listing the samples of {}", place_));
  const std::int64_t count = num_samples_ += samples;
  const double now_s = clock_->monotonic_s();
  {
    const std::lock_guard lock(mutex_);
    if (now_s - told_s_ < kTellEverySeconds) return;
    told_s_ = now_s;
  }
  const double seconds = now_s - start_s_;
  base::log_info(
      "listing {}: {} samples so far, {} per second", place_, base::format_count(count),
      base::format_count(static_cast<std::int64_t>(static_cast<double>(count) / seconds)));
}

}  // namespace paceline::data
