#include "paceline/train/step_reduction.h"

#include "paceline/base/error.h"
#include "paceline/tensor/host_tensor.h"

#include <algorithm>
#include <cmath>

namespace paceline::train {
namespace {

// What the host knows when it starts the reduction,
constexpr std::int64_t kSamples = 0;
constexpr std::int64_t kSkipped = 1;
constexpr std::int64_t kStop = 2;
constexpr std::int64_t kMissing = 3;
constexpr std::int64_t kLacking = 4;
constexpr std::int64_t kNumTold = 5;
// what the device has added to,
constexpr std::int64_t kLoss = 5;
constexpr std::int64_t kNotFinite = 6;
constexpr std::int64_t kSkipAsked = 7;
constexpr std::int64_t kFirstSum = 8;
// and, behind sums and scalars, what is found out after it, by all ranks alike.
constexpr std::int64_t kOverflow = 0;
constexpr std::int64_t kGradNorm = 1;
constexpr std::int64_t kSkip = 2;
constexpr std::int64_t kNumFound = 3;

}  // namespace

StepReduction::StepReduction(comm::Communicator& communicator, const StepSums& sums,
                             tensor::Device& device)
    : communicator_(communicator),
      device_(device),
      num_sums_(sums.metrics),
      num_scalars_(sums.scalars),
      values_(at::zeros({first_found() + kNumFound},
                        at::TensorOptions(device.place()).dtype(at::kDouble))),
      told_(values_.is_cpu() ? range(0, kNumTold)
                             : tensor::host_zeros(kNumTold, at::kDouble, device)),
      scalars_(values_.is_cpu() ? range(first_scalar(), first_found())
                                : tensor::host_zeros(num_scalars_, at::kDouble, device)) {
  totals_.sums.resize(static_cast<std::size_t>(num_sums_));
  totals_.scalars.resize(static_cast<std::size_t>(num_scalars_));
}

std::int64_t StepReduction::first_scalar() const { return kFirstSum + num_sums_; }

std::int64_t StepReduction::first_found() const { return first_scalar() + num_scalars_; }

at::Tensor StepReduction::range(std::int64_t begin, std::int64_t end) const {
  return values_.narrow(0, begin, end - begin);
}

void StepReduction::add_batch(std::int64_t samples, std::size_t skipped) {
  auto* const told = told_.mutable_data_ptr<double>();
  told[kSamples] += static_cast<double>(samples);
  told[kSkipped] += static_cast<double>(skipped);
}

void StepReduction::add(const at::Tensor& loss_sum, const at::Tensor& sums) {
  const at::NoGradGuard no_grad;
  if (values_.is_cpu()) {  // without operators, which cost more than a small step
    auto* const values = values_.mutable_data_ptr<double>();
    const double loss = loss_sum.item<double>();
    values[kLoss] += loss;
    if (!std::isfinite(loss)) values[kNotFinite] = 1;
    for (std::int64_t i = 0; i < num_sums_; ++i)
      values[kFirstSum + i] += sums.const_data_ptr<double>()[i];
    return;
  }
  values_[kLoss].add_(loss_sum);
  values_[kNotFinite].add_(loss_sum.isfinite().logical_not_());
  if (num_sums_ > 0) range(kFirstSum, kFirstSum + num_sums_).add_(sums);
}

void StepReduction::ask_to_skip(const at::Tensor& flag) {
  const at::NoGradGuard no_grad;
  values_[kSkipAsked].add_(flag);
}

void StepReduction::start(const StepFlags& own, std::span<const double> scalars) {
  auto* const told = told_.mutable_data_ptr<double>();
  told[kStop] = own.wants_stop ? 1 : 0;
  told[kMissing] = own.misses_gradients ? 1 : 0;
  told[kLacking] = own.lacks_next_batch ? 1 : 0;
  PACELINE_CHECK(std::ssize(scalars) == num_scalars_, "{} scalars, {} announced", scalars.size(),
                 num_scalars_);
  auto* const weighted = scalars_.mutable_data_ptr<double>();
  for (std::size_t i = 0; i < scalars.size(); ++i)
    weighted[i] = told[kSamples] == 0 ? 0 : scalars[i] * told[kSamples];
  if (!values_.is_cpu()) {
    range(0, kNumTold).copy_(told_, /*non_blocking=*/true);
    if (num_scalars_ > 0)
      range(first_scalar(), first_found()).copy_(scalars_, /*non_blocking=*/true);
  }
  if (communicator_.world_size() > 1)
    work_ = communicator_.all_reduce(range(0, first_found()), comm::ReduceOp::kSum);
}

void StepReduction::finish() {
  if (work_) std::exchange(work_, nullptr)->wait();
}

at::Tensor StepReduction::must_skip(const at::Tensor& overflows, const at::Tensor& grad_norm) {
  const at::NoGradGuard no_grad;
  has_grad_norm_ = grad_norm.defined();
  const std::int64_t found = first_found();
  if (values_.is_cpu()) {
    auto* const values = values_.mutable_data_ptr<double>();
    if (overflows.defined()) values[found + kOverflow] = overflows.item<double>();
    if (has_grad_norm_) values[found + kGradNorm] = grad_norm.item<double>();
    const bool skip = values[kNotFinite] != 0 || values[kMissing] != 0 || values[kSkipAsked] != 0 ||
                      values[found + kOverflow] != 0 || !std::isfinite(values[found + kGradNorm]);
    values[found + kSkip] = skip ? 1 : 0;
    return skip ? at::ones({}, at::kFloat) : at::Tensor();
  }
  at::Tensor skip = values_[kNotFinite].add(values_[kMissing]).add_(values_[kSkipAsked]).ne(0);
  if (overflows.defined()) {
    values_[found + kOverflow].copy_(overflows);
    skip.logical_or_(overflows);
  }
  if (has_grad_norm_) {
    values_[found + kGradNorm].copy_(grad_norm);
    skip.logical_or_(grad_norm.isfinite().logical_not_());
  }
  values_[found + kSkip].copy_(skip);
  return skip.to(at::kFloat);
}

void StepReduction::read() {
  const at::Tensor read = device_.read(values_);
  communicator_.require_intact();
  const auto* const values = read.const_data_ptr<double>();
  const double* const found = values + first_found();
  totals_.loss_sum = values[kLoss];
  totals_.samples = values[kSamples];
  totals_.skipped = values[kSkipped];
  any_not_finite_ = values[kNotFinite] != 0;
  any_wants_stop_ = values[kStop] != 0;
  any_misses_gradients_ = values[kMissing] != 0;
  any_lacks_next_batch_ = values[kLacking] != 0;
  std::copy_n(values + kFirstSum, num_sums_, totals_.sums.begin());
  std::transform(values + first_scalar(), found, totals_.scalars.begin(),
                 [&](double sum) { return sum / totals_.samples; });
  overflows_ = found[kOverflow] != 0;
  any_asks_to_skip_ = values[kSkipAsked] != 0;
  is_skipped_ = found[kSkip] != 0;
  grad_norm_ =
      std::exchange(has_grad_norm_, false) ? std::optional(found[kGradNorm]) : std::nullopt;
  values_.zero_();
  told_.zero_();
}

}  // namespace paceline::train
