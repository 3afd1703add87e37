#include "paceline/metrics/meters.h"

namespace paceline::metrics {

void ThroughputMeter::add_step(double now_s, std::int64_t samples) {
  samples_ += samples;
  marks_[num_steps_++ % marks_.size()] = {now_s - excluded_s_, samples_};
}

const ThroughputMeter::Mark& ThroughputMeter::oldest() const {
  return num_steps_ <= marks_.size() ? marks_[0] : marks_[num_steps_ % marks_.size()];
}

double ThroughputMeter::samples_per_s() const {
  if (num_steps_ < 2) return 0;
  const double elapsed_s = newest().time_s - oldest().time_s;
  return elapsed_s > 0 ? static_cast<double>(newest().samples - oldest().samples) / elapsed_s : 0;
}

double ThroughputMeter::steps_per_s() const {
  if (num_steps_ < 2) return 0;
  const double elapsed_s = newest().time_s - oldest().time_s;
  const std::size_t intervals = (num_steps_ < marks_.size() ? num_steps_ : marks_.size()) - 1;
  return elapsed_s > 0 ? static_cast<double>(intervals) / elapsed_s : 0;
}

}  // namespace paceline::metrics
