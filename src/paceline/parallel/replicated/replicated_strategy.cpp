#include "paceline/parallel/replicated/replicated_strategy.h"

#include "paceline/base/error.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/parallel/same_start.h"
#include "paceline/tensor/storage.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace paceline::parallel {

ReplicatedStrategy::ReplicatedStrategy(std::string_view name, comm::Communicator* communicator,
                                       DdpConfig config)
    : name_(name), communicator_(communicator), config_(std::move(config)) {}

void ReplicatedStrategy::prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
                                 const FillValues& fill) {
  PACELINE_CHECK(!gradients_, "a strategy is prepared once");
  parameters_ = trainable_parameters(module);
  if (parameters_.empty()) throw base::ConfigError("the model has no trainable parameter");
  frozen_ = frozen_parameters(module);
  buffers_ = module_buffers(module);
  state_ = nn::state_dict(module);
  std::erase_if(state_, [](const NamedTensor& named) { return !named.tensor.defined(); });
  lay_out(rules, fill);
  for (const NamedTensor& named : frozen_) {
    if (tensor::has_memory(named.tensor)) continue;
    check_fill(fill, named.name);
    tensor::allocate_memory(named.tensor);
    if (is_first_rank()) fill(named);
  }
  start_from_first_rank();
  if (communicator_ != nullptr) {
    compression_ = make_compression(config_, *gradients_, *communicator_);
  }
  reducer_.emplace(*gradients_, communicator_, compression_.get());
  gradient_of_.assign(parameters_.size(), Gradient::kNone);
  used_.emplace(config_, name_, parameters_.size(), values_->flats().front().device(),
                communicator_);
  hooks_.emplace(parameters_,
                 [this](std::size_t slot, at::Tensor& grad) { take_gradient(slot, grad); });
}

void ReplicatedStrategy::lay_out(std::span<const GroupRule> rules, const FillValues& fill) {
  for (const GroupRule& rule : rules) {
    group_settings_.push_back(
        {.name = rule.name, .weight_decay = rule.weight_decay, .lr_scale = rule.lr_scale});
  }
  std::vector<tensor::TensorSpec> specs;
  std::unordered_map<std::string, at::Tensor> by_name;
  for (const NamedTensor& parameter : parameters_) {
    const std::size_t group = optim::match_rule(rules, parameter.name, parameter.tensor);
    specs.push_back(
        tensor::describe(parameter.name, parameter.tensor, static_cast<std::int64_t>(group)));
    by_name.emplace(parameter.name, parameter.tensor);
  }
  if (communicator_ != nullptr) check_ranks_agree(specs, *communicator_);
  const tensor::FlatLayout layout = tensor::FlatLayout::build(specs, layout_options(config_));
  const at::Tensor first = parameters_.front().tensor;
  parameters_.clear();
  values_.emplace(layout, first);
  gradients_.emplace(layout, first);
  for (std::size_t slot = 0; slot < layout.slots.size(); ++slot) {
    const std::string& name = layout.slots[slot].spec.name;
    parameters_.push_back({name, by_name.at(name)});
    const bool has_values = tensor::has_memory(parameters_.back().tensor);
    if (!has_values) check_fill(fill, name);
    tensor::move_into(parameters_.back().tensor, values_->slot(slot));
    if (!has_values && is_first_rank()) fill(parameters_.back());
    grad_slots_.push_back(gradients_->slot(slot));
  }
}

void ReplicatedStrategy::start_from_first_rank() {
  if (communicator_ == nullptr) return;
  for (const at::Tensor& flat : values_->flats()) communicator_->broadcast(flat, 0)->wait();
  state_was_loaded();
  broadcast_from_first_rank(frozen_, *communicator_);
  broadcast_from_first_rank(buffers_, *communicator_);
}

std::vector<optim::ParamGroup> ReplicatedStrategy::param_groups() {
  std::vector<optim::ParamGroup> groups = group_settings_;
  for (std::size_t i = 0; i < layout().ranges.size(); ++i) {
    groups[static_cast<std::size_t>(layout().ranges[i].group)].slots.push_back(
        {values_->range(i), gradients_->range(i)});
  }
  return groups;
}

void ReplicatedStrategy::begin_microbatch(bool is_first, bool is_last) {
  if (is_first) {
    check_views();
    gradient_of_.assign(parameters_.size(), Gradient::kNone);
    refused_.clear();
    had_backward_ = false;
    reducer_->begin();
  }
  is_in_microbatch_ = true;
  is_last_microbatch_ = is_last;
}

/// The rank's share of this gradient is zeros, if it has none.
void ReplicatedStrategy::settle(std::size_t slot) {
  if (gradient_of_[slot] != Gradient::kNone) return;
  grad_slots_[slot].zero_();
  gradient_of_[slot] = Gradient::kZeros;
}

void ReplicatedStrategy::backward(const at::Tensor& loss, double weight) {
  if (is_last_microbatch_) {
    reducer_->begin_backward();
    for (const std::size_t slot : used_->settled()) {
      settle(slot);
      reducer_->mark_ready(slot);
    }
  }
  had_backward_ = true;
  loss.backward(at::full_like(loss.detach(), weight));
  if (is_last_microbatch_) end_backward();
}

void ReplicatedStrategy::backward_nothing() {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    settle(slot);
    if (is_last_microbatch_) reducer_->mark_ready(slot);
  }
  if (is_last_microbatch_) end_backward();
}

void ReplicatedStrategy::take_gradient(std::size_t slot, at::Tensor& grad) {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  if (used_->is_settled(slot)) {
    refused_.push_back(parameters_[slot].name);
    grad.reset();
    return;
  }
  {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;  // nobody differentiates this
    if (gradient_of_[slot] != Gradient::kNone) {
      grad_slots_[slot].add_(grad);
    } else {
      grad_slots_[slot].copy_(grad);
    }
  }
  grad.reset();
  gradient_of_[slot] = Gradient::kOfBackward;
  if (is_last_microbatch_) reducer_->mark_ready(slot);
}

void ReplicatedStrategy::end_backward() {
  untouched_.clear();
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    if (gradient_of_[slot] == Gradient::kOfBackward) continue;
    untouched_.push_back(slot);
    settle(slot);
    // A rank without samples shows nothing.
    const bool must_have_one =
        had_backward_ && !used_->allows_missing() && !used_->is_settled(slot);
    if (must_have_one) refused_.push_back(parameters_[slot].name);
  }
  reducer_->start_rest();
  used_->start_exchange(untouched_, had_backward_);
}

void ReplicatedStrategy::finish_gradients() {
  PACELINE_CHECK(is_in_microbatch_ && is_last_microbatch_,
                 "finish_gradients without a last microbatch");
  is_in_microbatch_ = false;
  reducer_->finish();
  used_->finish_exchange();
}

void ReplicatedStrategy::end_own_pass() {
  PACELINE_CHECK(is_in_microbatch_ && !is_last_microbatch_, "a pass of one's own has no last part");
  is_in_microbatch_ = false;
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) settle(slot);
}

void ReplicatedStrategy::refuse_missing_gradients() {
  parallel::refuse_missing_gradients(refused_, used_->demand(), communicator_);
}

// As in PyTorch, whose optimizers leave out what has no .grad. Which those are only the device may
// know yet.
void ReplicatedStrategy::update(optim::Optimizer& optimizer, double lr, const at::Tensor& skip) {
  struct Kept {
    std::size_t slot;
    at::Tensor view, value;
  };
  const at::NoGradGuard no_grad;
  const std::vector<std::size_t>& maybe_unused = used_->maybe_unused();
  std::vector<Kept> kept;
  const auto keep = [&kept](std::size_t slot, const at::Tensor& view) {
    kept.push_back({slot, view, view.clone()});
  };
  for (const std::size_t slot : maybe_unused) keep(slot, values_->slot(slot));
  if (!maybe_unused.empty()) {
    for (const optim::SlotState& state : optimizer.state()) {
      for_each_part(state.tensors, [&](std::size_t slot, const at::Tensor& part) {
        if (std::ranges::binary_search(maybe_unused, slot)) keep(slot, part);
      });
    }
  }
  optimizer.step(lr, skip);
  for (const auto& [slot, view, value] : kept)
    view.copy_(at::where(used_->is_used(slot), view, value));
}

void ReplicatedStrategy::check_views() const {
  for (std::size_t slot = 0; slot < parameters_.size(); ++slot) {
    const tensor::FlatSlot& place = layout().slots[slot];
    const std::size_t flat = values_->flat_of(static_cast<std::size_t>(place.bucket));
    tensor::check_in_place(parameters_[slot].name, parameters_[slot].tensor, values_->flats()[flat],
                           place.offset);
  }
}

// torch broadcasts buffers before every forward pass. In training no forward pass reads running
// statistics, so rank 0's values are the same when they are broadcast only before they are used.
void ReplicatedStrategy::synchronise_buffers() {
  if (communicator_ != nullptr && config_.buffers == BufferPolicy::kBroadcast) {
    broadcast_from_first_rank(buffers_, *communicator_);
  }
}

StateShard ReplicatedStrategy::whole_shard(std::string name, const at::Tensor& data) const {
  return {.name = std::move(name),
          .data = data.detach(),
          .shape = data.sizes().vec(),
          .begin = 0,
          .end = data.numel(),
          .is_writer = communicator_ == nullptr || communicator_->rank() == 0};
}

std::vector<StateShard> ReplicatedStrategy::model_state() {
  std::vector<StateShard> shards;
  for (const NamedTensor& named : state_) {
    shards.push_back(whole_shard(named.name, named.tensor));
    shards.back().is_replicated = named.is_parameter || config_.buffers != BufferPolicy::kKeep;
    shards.back().is_buffer = !named.is_parameter;
  }
  if (communicator_ != nullptr && config_.buffers == BufferPolicy::kKeep)
    append_own_buffers(shards, buffers_, *communicator_);
  return shards;
}

void ReplicatedStrategy::for_each_part(
    std::span<const at::Tensor> tensors,
    const std::function<void(std::size_t slot, const at::Tensor&)>& visit) const {
  // Slots are numbered group by group; param_groups() has one for each range.
  std::vector<const tensor::FlatRange*> ranges;
  for (std::size_t group = 0; group < group_settings_.size(); ++group) {
    for (const tensor::FlatRange& range : layout().ranges) {
      if (range.group == static_cast<std::int64_t>(group)) ranges.push_back(&range);
    }
  }
  PACELINE_CHECK(tensors.size() == ranges.size(),
                 "{} tensors for the {} slots of this strategy's param_groups()", tensors.size(),
                 ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::int64_t slot = ranges[i]->first_slot; slot < ranges[i]->end_slot; ++slot) {
      const tensor::FlatSlot& place = layout().slots[static_cast<std::size_t>(slot)];
      visit(static_cast<std::size_t>(slot),
            tensors[i].as_strided(place.spec.sizes, place.spec.strides,
                                  tensors[i].storage_offset() + place.offset - ranges[i]->begin));
    }
  }
}

std::vector<StateShard> ReplicatedStrategy::cut_by_parameter(
    const std::string& prefix, std::span<const at::Tensor> tensors) const {
  std::vector<StateShard> shards;
  for_each_part(tensors, [&](std::size_t slot, const at::Tensor& part) {
    shards.push_back(whole_shard(prefix + parameters_[slot].name, part));
  });
  return shards;
}

std::vector<StateShard> ReplicatedStrategy::gradient_state() {
  return compression_ ? compression_->state() : std::vector<StateShard>();
}

void ReplicatedStrategy::state_was_loaded() {
  for (const at::Tensor& flat : values_->flats()) torch::autograd::impl::bump_version(flat);
}

// Buckets are slices of the gradients, reduced in place.
StrategyMemory ReplicatedStrategy::memory(int /*num_microbatches*/) const {
  StrategyMemory memory;
  for (const at::Tensor& flat : values_->flats()) memory.parameters += flat.nbytes();
  for (const at::Tensor& flat : gradients_->flats()) memory.gradients += flat.nbytes();
  memory.parameters += bytes_of(frozen_) + bytes_of(buffers_);
  return memory;
}

CommunicationReport ReplicatedStrategy::communication_report() const {
  if (communicator_ == nullptr || communicator_->world_size() == 1) return {};
  return reducer_->report();
}

std::unique_ptr<ReplicatedStrategy> make_none(const NoneConfig& config) {
  return std::make_unique<ReplicatedStrategy>(
      "none", nullptr,
      DdpConfig{.last_bucket_mib = 0, .allow_unused_parameters = config.allow_unused_parameters});
}

std::unique_ptr<ReplicatedStrategy> make_ddp(const DdpConfig& config,
                                             comm::Communicator& communicator) {
  return std::make_unique<ReplicatedStrategy>("ddp", &communicator, config);
}

}  // namespace paceline::parallel
