#include "paceline/parallel/replicated/bucket_reducer.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace paceline::parallel {
namespace {

using Time = std::chrono::steady_clock::time_point;

double seconds(Time begin, Time end) { return std::chrono::duration<double>(end - begin).count(); }

}  // namespace

BucketReducer::BucketReducer(const tensor::Arena& gradients, comm::Communicator* communicator,
                             GradientCompression* compression)
    : gradients_(gradients),
      communicator_(communicator != nullptr && communicator->world_size() > 1 ? communicator
                                                                              : nullptr),
      compression_(compression) {
  const tensor::FlatLayout& layout = gradients.layout();
  for (std::size_t i = 0; i < layout.buckets.size(); ++i) buckets_.push_back(gradients.bucket(i));
  bucket_sizes_.resize(layout.buckets.size(), 0);
  for (const tensor::FlatSlot& slot : layout.slots) {
    ++bucket_sizes_[static_cast<std::size_t>(slot.bucket)];
  }
  ready_order_.reserve(layout.slots.size());
  filled_by_.resize(layout.buckets.size());
  start_times_.resize(layout.buckets.size());
  exposed_of_.resize(layout.buckets.size());
  begin();
}

void BucketReducer::begin() {
  num_missing_ = bucket_sizes_;
  is_ready_.assign(gradients_.layout().slots.size(), 0);
  ready_order_.clear();
  in_flight_.clear();
  exposed_s_ = 0;
  next_bucket_ = 0;
  filled_by_.assign(filled_by_.size(), kNoSlot);
  backward_start_.reset();
}

void BucketReducer::begin_backward() { backward_start_ = std::chrono::steady_clock::now(); }

void BucketReducer::mark_ready(std::size_t slot) {
  const tensor::FlatSlot& info = gradients_.layout().slots[slot];
  PACELINE_CHECK(
      is_ready_[slot] == 0,
      "parameter '{}' got a second gradient in one reduction: call finish_gradients() after "
      "every backward that is reduced, and mark the others as microbatches (or no_sync)",
      info.spec.name);
  if (!backward_start_) begin_backward();
  const auto bucket = static_cast<std::size_t>(info.bucket);
  is_ready_[slot] = 1;
  ready_order_.push_back(slot);
  filled_by_[bucket] = slot;
  --num_missing_[bucket];
  while (next_bucket_ < buckets_.size() && num_missing_[next_bucket_] == 0) start(next_bucket_++);
}

void BucketReducer::start(std::size_t bucket) {
  start_times_[bucket] = std::chrono::steady_clock::now();
  if (compression_ != nullptr) {
    in_flight_.push_back(compression_->all_reduce(bucket));
  } else if (communicator_ != nullptr) {
    in_flight_.push_back(communicator_->all_reduce(buckets_[bucket], comm::ReduceOp::kSum));
  }
}

void BucketReducer::start_rest() {
  while (next_bucket_ < buckets_.size()) start(next_bucket_++);
}

void BucketReducer::finish() {
  backward_end_ = std::chrono::steady_clock::now();
  exposed_s_ = 0;
  Time before = backward_end_;
  std::size_t bucket = 0;
  for (const auto& work : std::exchange(in_flight_, {})) {
    work->wait();
    const Time after = std::chrono::steady_clock::now();
    exposed_of_[bucket++] = seconds(std::exchange(before, after), after);
  }
  exposed_s_ = seconds(backward_end_, before);
}

CommunicationReport BucketReducer::report() const {
  CommunicationReport report;
  const Time start = backward_start_.value_or(backward_end_);
  report.backward_s = seconds(start, backward_end_);
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    const std::size_t slot = filled_by_[bucket];
    report.buckets.push_back(
        {.bytes = static_cast<std::int64_t>(buckets_[bucket].nbytes()),
         .filled_by = slot == kNoSlot ? "" : gradients_.layout().slots[slot].spec.name,
         .start_s = seconds(start, start_times_[bucket]),
         .exposed_s = exposed_of_[bucket]});
  }
  report.late_parameters = late_parameters(gradients_.layout(), ready_order_);
  return report;
}

std::vector<std::string> late_parameters(const tensor::FlatLayout& layout,
                                         std::span<const std::size_t> ready_order) {
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> ready_at(layout.slots.size(), kNever);
  for (std::size_t i = 0; i < ready_order.size(); ++i) ready_at[ready_order[i]] = i;
  std::vector<std::size_t> full_at(layout.buckets.size(), 0);
  for (std::size_t slot = 0; slot < layout.slots.size(); ++slot) {
    std::size_t& full = full_at[static_cast<std::size_t>(layout.slots[slot].bucket)];
    full = std::max(full, ready_at[slot]);
  }
  std::vector<std::string> late;
  std::size_t first_full_behind = kNever;  // when the first of all buckets behind this one was full
  for (std::size_t slot = layout.slots.size(); slot-- > 0;) {
    const auto bucket = static_cast<std::size_t>(layout.slots[slot].bucket);
    if (bucket + 1 < layout.buckets.size()) {
      first_full_behind = std::min(first_full_behind, full_at[bucket + 1]);
    }
    if (ready_at[slot] > first_full_behind) late.push_back(layout.slots[slot].spec.name);
  }
  std::ranges::reverse(late);
  return late;
}

}  // namespace paceline::parallel
