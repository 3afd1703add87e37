#include "paceline/parallel/replicated/replicated_strategy.h"

#include "paceline/base/error.h"
#include "paceline/parallel/replica_consistency.h"
#include "paceline/tensor/dtype.h"
#include "paceline/tensor/storage.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <utility>

namespace paceline::parallel {

ReplicatedStrategy::ReplicatedStrategy(std::string_view name, comm::Communicator* communicator,
                                       DdpConfig config)
    : name_(name), communicator_(communicator), config_(std::move(config)) {}

void ReplicatedStrategy::prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
                                 const FillValues& fill) {
  PACELINE_CHECK(!gradients_, "a strategy is prepared once");
  frozen_ = frozen_parameters(module);
  buffers_ = module_buffers(module);
  state_ = module_state(module);
  group_settings_ = empty_groups(rules);
  gradients_.emplace(trainable_parameters(module), rules, config_, name_, communicator_,
                     [this](std::size_t slot, at::Tensor& grad) {
                       PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
                       gradients_->take(slot, grad, /*is_final=*/is_last_microbatch_);
                       grad.reset();
                     });
  lay_out_values(fill);
  for (const NamedTensor& named : frozen_) {
    if (tensor::has_memory(named.tensor)) continue;
    check_fill(fill, named.name);
    tensor::allocate_memory(named.tensor);
    if (is_first_rank()) fill(named);
  }
  start_from_first_rank();
}

void ReplicatedStrategy::lay_out_values(const FillValues& fill) {
  const std::vector<NamedTensor>& parameters = gradients_->parameters();
  values_.emplace(layout(), parameters.front().tensor);
  for (std::size_t slot = 0; slot < parameters.size(); ++slot) {
    const NamedTensor& parameter = parameters[slot];
    const bool has_values = tensor::has_memory(parameter.tensor);
    if (!has_values) check_fill(fill, parameter.name);
    tensor::move_into(parameter.tensor, values_->slot(slot));
    if (!has_values && is_first_rank()) fill(parameter);
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
  const GradientPlaces& places = gradients_->places();
  for (std::size_t i = 0; i < places.ranges().size(); ++i) {
    const tensor::FlatRange& range = places.ranges()[i];
    std::vector<optim::ParamPiece> pieces;
    for (std::int64_t slot = range.first_slot; slot < range.end_slot; ++slot) {
      const tensor::FlatSlot& place = layout().slots[static_cast<std::size_t>(slot)];
      const std::int64_t begin = place.offset - range.begin;
      pieces.push_back({slot, begin, begin + place.numel, /*offset=*/0});
    }
    groups[static_cast<std::size_t>(range.group)].slots.push_back(
        {values_->range(range), places.range(i), std::move(pieces)});
  }
  return groups;
}

optim::ParameterShards ReplicatedStrategy::parameter_shards() const {
  optim::ParameterShards shards{.device = values_->flats().front().device(),
                                .is_writer = is_first_rank()};
  for (const tensor::FlatSlot& slot : layout().slots) {
    shards.parameters.push_back({slot.spec.sizes, tensor::dtype_from_name(slot.spec.dtype),
                                 static_cast<std::size_t>(slot.spec.group),
                                 tensor::memory_order(slot.spec.sizes, slot.spec.strides),
                                 slot.spec.name});
  }
  return shards;
}

void ReplicatedStrategy::begin_microbatch(bool is_first, bool is_last) {
  if (is_first) {
    check_views();
    gradients_->begin();
    were_given_ = false;
    had_backward_ = false;
  }
  is_in_microbatch_ = true;
  is_last_microbatch_ = is_last;
}

void ReplicatedStrategy::backward(const at::Tensor& loss, double weight) {
  if (is_last_microbatch_) gradients_->begin_backward();
  had_backward_ = true;
  loss.backward(at::full_like(loss.detach(), weight));
  if (is_last_microbatch_) end_backward();
}

void ReplicatedStrategy::backward_nothing() {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  gradients_->take_zeros(/*is_ready=*/is_last_microbatch_);
  if (is_last_microbatch_) end_backward();
}

void ReplicatedStrategy::end_backward() {
  gradients_->start_rest(had_backward_);
  gradients_->start_exchange(had_backward_);
}

void ReplicatedStrategy::finish_gradients() {
  PACELINE_CHECK(is_in_microbatch_ && is_last_microbatch_,
                 "finish_gradients without a last microbatch");
  is_in_microbatch_ = false;
  gradients_->finish();
}

void ReplicatedStrategy::end_own_pass() {
  PACELINE_CHECK(is_in_microbatch_ && !is_last_microbatch_, "a pass of one's own has no last part");
  is_in_microbatch_ = false;
  gradients_->take_zeros(/*is_ready=*/false);
}

std::span<const at::Tensor> ReplicatedStrategy::gradients() {
  were_given_ = true;
  return gradients_->flats();
}

bool ReplicatedStrategy::watch_gradients(SeeGradient see) {
  const bool is_host = values_->flats().front().is_cpu();
  if (communicator_ != nullptr || !is_host || (see && gradients_->is_watched())) return false;
  gradients_->watch(std::move(see));
  return true;
}

void ReplicatedStrategy::freeze(const std::set<std::string>& names) {
  if (config_.static_graph) {
    throw base::ConfigError(
        "parallel.ddp.static_graph is for models whose every step trains the same parameters, and "
        "this run freezes some on its way: switch it off");
  }
  if (config_.compression == Compression::kPowerSgd) {
    throw base::ConfigError(
        "parallel.ddp.compression: powersgd keeps what it left out of each gradient for the next "
        "one, and this run freezes parameters on its way, which have no next: choose fp16 or bf16");
  }
  freeze_only(gradients_->parameters(), names);
  gradients_->follow_trainable();
}

// As in PyTorch, whose optimizers leave out what has no .grad. Which those are only the device may
// know yet.
void ReplicatedStrategy::step(optim::Optimizer& optimizer, double lr, const at::Tensor& skip) {
  struct Kept {
    std::size_t slot;
    at::Tensor view, value;
  };
  const at::NoGradGuard no_grad;
  const std::vector<std::size_t>& maybe_unused = gradients_->used().maybe_unused();
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
    for (const optim::ParameterState& state : optimizer.parameter_state()) {
      for (const std::size_t slot : maybe_unused) {
        if (state.tensors[slot].defined()) keep(slot, state.tensors[slot]);
      }
    }
  }
  optimizer.step(lr, skip);
  for (const auto& [slot, view, value] : kept)
    view.copy_(at::where(gradients_->used().is_used(slot), view, value));
}

void ReplicatedStrategy::check_views() const {
  const std::vector<NamedTensor>& parameters = gradients_->parameters();
  for (std::size_t slot = 0; slot < parameters.size(); ++slot) {
    const tensor::FlatSlot& place = layout().slots[slot];
    const std::size_t flat = values_->flat_of(static_cast<std::size_t>(place.bucket));
    tensor::check_in_place(parameters[slot].name, parameters[slot].tensor, values_->flats()[flat],
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
          .is_writer = is_first_rank()};
}

std::vector<StateShard> ReplicatedStrategy::model_state() const {
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
    for (const tensor::FlatRange& range : gradients_->places().ranges()) {
      if (range.group == static_cast<std::int64_t>(group)) ranges.push_back(&range);
    }
  }
  PACELINE_CHECK(tensors.size() == ranges.size(),
                 "{} tensors for the {} slots of this strategy's param_groups()", tensors.size(),
                 ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!tensors[i].defined()) continue;
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
    shards.push_back(whole_shard(prefix + gradients_->parameters()[slot].name, part));
  });
  return shards;
}

void ReplicatedStrategy::state_was_loaded() {
  for (const at::Tensor& flat : values_->flats()) torch::autograd::impl::bump_version(flat);
}

// Buckets are slices of the gradients, reduced in place.
StrategyMemory ReplicatedStrategy::memory(int /*num_microbatches*/) const {
  StrategyMemory memory;
  for (const at::Tensor& flat : values_->flats()) memory.parameters += flat.nbytes();
  memory.gradients = gradients_->arena_bytes();
  memory.transient = gradients_->places().bytes_beside_arena();
  memory.parameters += bytes_of(frozen_) + bytes_of(buffers_);
  return memory;
}

CommunicationReport ReplicatedStrategy::communication_report() const {
  if (communicator_ == nullptr || communicator_->world_size() == 1) return {};
  return gradients_->report();
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
