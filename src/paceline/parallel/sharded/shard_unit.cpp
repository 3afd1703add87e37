#include "paceline/parallel/sharded/shard_unit.h"

#include "paceline/base/error.h"
#include "paceline/comm/collective.h"

#include <algorithm>

namespace paceline::parallel {

void ShardUnit::add(std::unique_ptr<ShardedFlat> flat) {
  const std::size_t num_slots = flat->layout().slots.size();
  if (flat->is_trainable()) num_trainable_ += num_slots;
  has_sum_.emplace_back(flat->is_trainable() ? num_slots : 0, 0);
  has_gradient_ = has_sum_;
  num_missing_ = num_trainable_;
  flats_.push_back(std::move(flat));
}

void ShardUnit::follow_trainable() {
  num_trainable_ = 0;
  for (const auto& flat : flats_) {
    if (!flat->is_trainable()) continue;
    num_trainable_ += static_cast<std::size_t>(std::ranges::count_if(
        flat->parameters(),
        [](const NamedTensor& parameter) { return parameter.tensor.requires_grad(); }));
    flat->grad_shard().zero_();  // no sum may overwrite it any more
  }
}

void ShardUnit::start_gather() {
  if (is_gathered_ || is_gathering_) return;
  is_gathering_ = true;
  for (const auto& flat : flats_) {
    if (auto work = flat->start_gather(name_)) gathers_.push_back(std::move(work));
  }
}

double ShardUnit::finish_gather() {
  if (is_gathered_) return 0;
  start_gather();
  const double waited = comm::wait_for_all(gathers_);
  for (const auto& flat : flats_) flat->end_gather();
  is_gathering_ = false;
  is_gathered_ = true;
  return waited;
}

void ShardUnit::release() {
  if (is_gathering_) finish_gather();
  if (!is_gathered_) return;
  for (const auto& flat : flats_) is_gathered_ = flat->release() && is_gathered_;
}

void ShardUnit::expire() {
  if (is_gathering_) finish_gather();
  for (const auto& flat : flats_) flat->bump_versions();
  is_gathered_ = false;
}

void ShardUnit::begin_gradients(bool starts_sum) {
  num_missing_ = num_trainable_;
  was_reduced_ = false;
  for (std::vector<char>& flat : has_gradient_) std::ranges::fill(flat, 0);
  if (!starts_sum) return;
  for (std::vector<char>& flat : has_sum_) std::ranges::fill(flat, 0);
}

void ShardUnit::take_gradient(std::size_t flat, std::size_t slot, const at::Tensor& grad) {
  PACELINE_CHECK(!was_reduced_,
                 "parameter '{}' got a gradient after those of {} were reduced: a block runs once "
                 "in a forward pass, and only it uses its weights",
                 flats_[flat]->parameters()[slot].name, name_);
  char& has_sum = has_sum_[flat][slot];
  flats_[flat]->take_gradient(slot, grad, /*add=*/has_sum != 0);
  has_sum = 1;
  num_missing_ -= has_gradient_[flat][slot] == 0 ? 1 : 0;
  has_gradient_[flat][slot] = 1;
}

void ShardUnit::zero_missing_gradients() {
  num_missing_ = 0;
  if (!is_trainable()) return;
  for (std::size_t flat = 0; flat < flats_.size(); ++flat) {
    for (std::size_t slot = 0; slot < has_sum_[flat].size(); ++slot) {
      if (has_sum_[flat][slot] == 0) flats_[flat]->zero_gradient(slot);
      has_sum_[flat][slot] = 1;
    }
  }
}

void ShardUnit::start_reduce() {
  was_reduced_ = true;
  zero_missing_gradients();  // of what is frozen in it
  for (const auto& flat : flats_) {
    if (!flat->is_trainable()) continue;
    if (auto work = flat->start_reduce(name_)) reductions_.push_back(std::move(work));
  }
}

double ShardUnit::finish_reduce(bool add) {
  const double waited = comm::wait_for_all(reductions_);
  for (const auto& flat : flats_) {
    if (flat->is_trainable()) flat->end_reduce(add);
  }
  return waited;
}

}  // namespace paceline::parallel
