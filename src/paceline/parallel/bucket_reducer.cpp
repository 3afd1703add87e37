#include "paceline/parallel/bucket_reducer.h"

#include "paceline/base/error.h"
#include "paceline/comm/collective.h"
#include "paceline/parallel/missing_gradients.h"

#include <algorithm>
#include <limits>

namespace paceline::parallel {

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
  begin();
}

void BucketReducer::begin() {
  num_missing_ = bucket_sizes_;
  is_ready_.assign(gradients_.layout().slots.size(), 0);
  ready_order_.clear();
  in_flight_.clear();
  next_bucket_ = 0;
}

void BucketReducer::mark_ready(std::size_t slot) {
  const tensor::FlatSlot& info = gradients_.layout().slots[slot];
  PACELINE_CHECK(
      is_ready_[slot] == 0,
      "parameter '{}' got a second gradient in one reduction: call finish_gradients() after "
      "every backward that is reduced, and mark the others as microbatches (or no_sync)",
      info.spec.name);
  is_ready_[slot] = 1;
  ready_order_.push_back(slot);
  --num_missing_[static_cast<std::size_t>(info.bucket)];
  while (next_bucket_ < buckets_.size() && num_missing_[next_bucket_] == 0) start(next_bucket_++);
}

void BucketReducer::start(std::size_t bucket) {
  if (compression_ != nullptr) {
    in_flight_.push_back(compression_->all_reduce(bucket));
  } else if (communicator_ != nullptr) {
    in_flight_.push_back(communicator_->all_reduce(buckets_[bucket], comm::ReduceOp::kSum));
  }
}

void BucketReducer::finish(std::span<const std::string> refused, std::string_view section) {
  if (!refused.empty()) mark_missing_gradient(last_element());
  while (next_bucket_ < buckets_.size()) start(next_bucket_++);
  exposed_s_ = comm::wait_for_all(in_flight_);
  refuse_missing_gradients(last_element(), refused, section, communicator_);
}

/// Of the last bucket to be reduced.
at::Tensor BucketReducer::last_element() const {
  const tensor::FlatSlot& slot = gradients_.layout().slots.back();
  const std::size_t flat = gradients_.flat_of(static_cast<std::size_t>(slot.bucket));
  return gradients_.flats()[flat].select(0, slot.offset + slot.numel - 1);
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
