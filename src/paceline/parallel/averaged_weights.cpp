#include "paceline/parallel/averaged_weights.h"

#include <utility>

namespace paceline::parallel {
namespace {

void move_towards(const at::Tensor& average, const at::Tensor& value, double share) {
  if (share == 1) {
    average.copy_(value);
  } else {
    average.lerp_(value, share);
  }
}

}  // namespace

AveragedWeights::AveragedWeights(Strategy& strategy) : strategy_(strategy) {
  for (const optim::ParamGroup& group : strategy.param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) {
      weights_.push_back(slot.param.detach());
      averages_.push_back(weights_.back().clone());
    }
  }
  for (StateShard& shard : strategy.model_state()) {
    if (!shard.is_buffer || !shard.data.is_floating_point()) continue;
    const at::Tensor average = shard.data.clone();
    buffers_.push_back({std::move(shard), average});
  }
}

void AveragedWeights::move_weights(double share) {
  if (std::exchange(has_moved_with_step_, false)) return;
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < weights_.size(); ++i) move_towards(averages_[i], weights_[i], share);
}

bool AveragedWeights::move_weights_with_step(optim::Optimizer& optimizer, double share) {
  has_moved_with_step_ = share < 1 && strategy_.takes_steps_as_they_are() &&
                         optimizer.average_next_parameters(averages_, share);
  return has_moved_with_step_;
}

void AveragedWeights::move_buffers(double share) {
  const at::NoGradGuard no_grad;
  for (const Buffer& buffer : buffers_) move_towards(buffer.average, buffer.shard.data, share);
}

void AveragedWeights::load() {
  const at::NoGradGuard no_grad;
  for (const auto& [value, average] : pairs()) value.copy_(average);
  strategy_.state_was_loaded();
}

void AveragedWeights::swap() {
  const at::NoGradGuard no_grad;
  for (const auto& [value, average] : pairs()) {
    const at::Tensor kept = value.clone();
    value.copy_(average);
    average.copy_(kept);
  }
  strategy_.state_was_loaded();
}

std::vector<AveragedWeights::Pair> AveragedWeights::pairs() const {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < weights_.size(); ++i) pairs.push_back({weights_[i], averages_[i]});
  for (const Buffer& buffer : buffers_) pairs.push_back({buffer.shard.data, buffer.average});
  return pairs;
}

std::vector<StateShard> AveragedWeights::shards(const std::string& prefix) const {
  auto shards = strategy_.cut_by_parameter(prefix, averages_);
  for (const Buffer& buffer : buffers_) {
    StateShard shard = buffer.shard;
    shard.name = prefix + shard.name;
    shard.data = buffer.average;
    shard.is_replicated = false;  // between evaluations running statistics are a rank's own
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace paceline::parallel
