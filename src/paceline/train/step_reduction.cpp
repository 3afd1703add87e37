#include "paceline/train/step_reduction.h"

#include <algorithm>
#include <cmath>

namespace paceline::train {
namespace {

constexpr std::size_t kLoss = 0;
constexpr std::size_t kSamples = 1;
constexpr std::size_t kSkipped = 2;
constexpr std::size_t kNotFinite = 3;
constexpr std::size_t kStop = 4;
constexpr std::size_t kMissing = 5;
constexpr std::size_t kLacking = 6;
constexpr std::size_t kFirstCount = 7;

}  // namespace

StepReduction::StepReduction(comm::Communicator& communicator, std::size_t num_counts)
    : communicator_(communicator),
      num_counts_(num_counts),
      values_(at::zeros({static_cast<std::int64_t>(kFirstCount + num_counts)}, at::kDouble)),
      scratch_(num_counts) {
  totals_.counts.resize(num_counts);
}

void StepReduction::add(double loss_sum, std::int64_t samples, std::span<const double> counts) {
  double* values = values_.mutable_data_ptr<double>();
  values[kLoss] += loss_sum;
  values[kSamples] += static_cast<double>(samples);
  if (!std::isfinite(loss_sum)) values[kNotFinite] = 1;
  for (std::size_t i = 0; i < counts.size(); ++i) values[kFirstCount + i] += counts[i];
}

void StepReduction::add_skipped(std::size_t samples) {
  values_.mutable_data_ptr<double>()[kSkipped] += static_cast<double>(samples);
}

std::span<double> StepReduction::scratch_counts() {
  std::fill(scratch_.begin(), scratch_.end(), 0.0);
  return scratch_;
}

void StepReduction::start(const StepFlags& own) {
  double* values = values_.mutable_data_ptr<double>();
  values[kStop] = own.wants_stop ? 1 : 0;
  values[kMissing] = own.misses_gradients ? 1 : 0;
  values[kLacking] = own.lacks_next_batch ? 1 : 0;
  if (communicator_.world_size() > 1)
    work_ = communicator_.all_reduce(values_, comm::ReduceOp::kSum);
}

void StepReduction::finish() {
  if (work_) {
    work_->wait();
    work_.reset();
  }
  double* values = values_.mutable_data_ptr<double>();
  totals_.loss_sum = values[kLoss];
  totals_.samples = values[kSamples];
  totals_.skipped = values[kSkipped];
  any_not_finite_ = values[kNotFinite] != 0;
  any_wants_stop_ = values[kStop] != 0;
  any_misses_gradients_ = values[kMissing] != 0;
  any_lacks_next_batch_ = values[kLacking] != 0;
  std::copy_n(values + kFirstCount, num_counts_, totals_.counts.begin());
  std::fill_n(values, kFirstCount + num_counts_, 0.0);
}

}  // namespace paceline::train
