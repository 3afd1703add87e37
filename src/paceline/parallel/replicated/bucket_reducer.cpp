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
  ready_order_.reserve(layout.slots.size());
  filled_by_.resize(layout.buckets.size());
  start_times_.resize(layout.buckets.size());
  exposed_of_.resize(layout.buckets.size());
  reduce_only(std::vector<char>(layout.slots.size(), 1));
  begin();
}

void BucketReducer::reduce_only(std::span<const char> is_trained) {
  const std::vector<tensor::FlatSlot>& slots = gradients_.layout().slots;
  const std::vector<tensor::FlatBucket>& buckets = gradients_.layout().buckets;
  is_trained_.assign(is_trained.begin(), is_trained.end());
  bucket_sizes_.assign(buckets.size(), 0);
  std::vector<std::int64_t> begins(buckets.size());
  std::vector<std::int64_t> ends(buckets.size());
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (is_trained[slot] == 0) continue;
    const auto bucket = static_cast<std::size_t>(slots[slot].bucket);
    if (bucket_sizes_[bucket]++ == 0) begins[bucket] = slots[slot].offset;
    const bool ends_bucket =
        slot + 1 == slots.size() || slots[slot + 1].bucket != slots[slot].bucket;
    ends[bucket] = ends_bucket ? buckets[bucket].end : slots[slot + 1].offset;
  }
  buckets_.assign(buckets.size(), at::Tensor());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (bucket_sizes_[i] > 0)
      buckets_[i] =
          gradients_.bucket(i).narrow(0, begins[i] - buckets[i].begin, ends[i] - begins[i]);
  }
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
}

void BucketReducer::start_full() {
  for (; next_bucket_ < buckets_.size() && num_missing_[next_bucket_] == 0; ++next_bucket_) {
    start_times_[next_bucket_] = std::chrono::steady_clock::now();
    const at::Tensor& bucket = buckets_[next_bucket_];
    if (!bucket.defined()) {
      in_flight_.push_back(nullptr);
    } else if (compression_ != nullptr) {
      in_flight_.push_back(compression_->all_reduce(next_bucket_));
    } else if (communicator_ != nullptr) {
      in_flight_.push_back(communicator_->all_reduce(bucket, comm::ReduceOp::kSum));
    }
  }
}

void BucketReducer::start_rest() {
  num_missing_.assign(num_missing_.size(), 0);
  start_full();
}

void BucketReducer::finish() {
  backward_end_ = std::chrono::steady_clock::now();
  exposed_s_ = 0;
  Time before = backward_end_;
  std::size_t bucket = 0;
  for (const auto& work : std::exchange(in_flight_, {})) {
    if (work) work->wait();
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
        {.bytes =
             buckets_[bucket].defined() ? static_cast<std::int64_t>(buckets_[bucket].nbytes()) : 0,
         .filled_by = slot == kNoSlot ? "" : gradients_.layout().slots[slot].spec.name,
         .start_s = seconds(start, start_times_[bucket]),
         .exposed_s = exposed_of_[bucket]});
  }
  report.late_parameters = late_parameters(gradients_.layout(), ready_order_, is_trained_);
  return report;
}

std::vector<std::string> late_parameters(const tensor::FlatLayout& layout,
                                         std::span<const std::size_t> ready_order,
                                         std::span<const char> is_trained) {
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> ready_at(layout.slots.size(), kNever);
  for (std::size_t i = 0; i < ready_order.size(); ++i) ready_at[ready_order[i]] = i;
  std::vector<char> has_trained(layout.buckets.size(), 0);
  std::vector<std::size_t> full_at(layout.buckets.size(), kNever);
  for (std::size_t slot = 0; slot < layout.slots.size(); ++slot) {
    if (is_trained[slot] == 0) continue;
    const auto bucket = static_cast<std::size_t>(layout.slots[slot].bucket);
    const bool is_first = std::exchange(has_trained[bucket], 1) == 0;
    full_at[bucket] = is_first ? ready_at[slot] : std::max(full_at[bucket], ready_at[slot]);
  }
  std::vector<std::string> late;
  std::size_t first_full_behind = kNever;  // when the first of all buckets behind this one was full
  for (std::size_t slot = layout.slots.size(); slot-- > 0;) {
    const auto bucket = static_cast<std::size_t>(layout.slots[slot].bucket);
    if (bucket + 1 < layout.buckets.size()) {
      first_full_behind = std::min(first_full_behind, full_at[bucket + 1]);
    }
    if (is_trained[slot] != 0 && ready_at[slot] > first_full_behind)
      late.push_back(layout.slots[slot].spec.name);
  }
  std::ranges::reverse(late);
  return late;
}

}  // namespace paceline::parallel
