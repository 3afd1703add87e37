#include "paceline/parallel/sharded/sharded_strategy.h"

#include "paceline/base/error.h"
#include "paceline/comm/collective.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/parallel/same_start.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <utility>

namespace paceline::parallel {
namespace {

KeepFull keep_full_of(const ShardedConfig& config) {
  return config.reshard_after_forward ? KeepFull::kUntilForwardEnds : KeepFull::kUntilBackwardEnds;
}

}  // namespace

ShardedStrategy::ShardedStrategy(const ShardingPlan& plan, const ShardedConfig& config,
                                 comm::Communicator& communicator)
    : plan_(plan), config_(config), world_(communicator) {
  const int world_size = world_.world_size();
  const int group_size = plan.shard_group_size == 0 ? world_size : plan.shard_group_size;
  if (group_size < 1 || world_size % group_size != 0) {
    throw base::ConfigError(
        fmt::format("parallel.fsdp.shard_group_size is {}, which does not divide the {} ranks of "
                    "this run",
                    group_size, world_size));
  }
  if (group_size != world_size) {
    shard_group_ = world_.split(world_.rank() / group_size);
    replica_group_ = world_.split(world_.rank() % group_size);
  }
  accumulates_full_gradients_ =
      plan.accumulates_full_gradients || !config.reduce_every_microbatch || group_size == 1;
}

ShardedStrategy::~ShardedStrategy() {
  for (const auto& gate : gates_) gate->remove();
}

void ShardedStrategy::begin_microbatch(bool is_first, bool is_last) {
  is_in_microbatch_ = true;
  is_last_microbatch_ = is_last;
  is_first_reduction_ = is_first || accumulates_full_gradients_;
  if (is_first) {
    exposed_s_ = 0;
    had_backward_ = false;
    had_gradient_.assign(places_.size(), 0);
    for (const auto& unit : units_) {
      for (const auto& flat : unit->flats()) flat->check_views();
    }
  }
  for (const auto& unit : units_) {
    unit->begin_gradients(/*starts_sum=*/is_first || !accumulates_full_gradients_);
  }
  next_reduction_ = 0;
  exposed_s_ += gather_root();
}

/// The first block's parameters come behind. Gives the seconds that it waited.
double ShardedStrategy::gather_root() {
  root().start_gather();
  if (num_blocks() > 0) units_.front()->start_gather();
  return root().finish_gather();
}

void ShardedStrategy::begin_forward(std::size_t block) {
  exposed_s_ += units_[block]->finish_gather();
  const std::size_t end =
      std::min(num_blocks(), block + 1 + static_cast<std::size_t>(config_.prefetch));
  for (std::size_t next = block + 1; next < end; ++next) units_[next]->start_gather();
}

void ShardedStrategy::end_forward(std::size_t block) {
  const bool needs_backward = is_in_microbatch_ && at::GradMode::is_enabled();
  // Backward begins with the last block.
  const bool stays = needs_backward &&
                     (plan_.keep_full != KeepFull::kUntilForwardEnds || block + 1 == num_blocks());
  if (!stays) units_[block]->release();
}

void ShardedStrategy::begin_backward(std::size_t block) {
  is_reached_[block] = 1;
  exposed_s_ += units_[block]->finish_gather();
  const std::size_t count = std::min(block, static_cast<std::size_t>(config_.prefetch));
  for (std::size_t i = 1; i <= count; ++i) {
    if (has_backward_[block - i] != 0) units_[block - i]->start_gather();
  }
}

// A block without some of its gradients is reduced here, so that all ranks gather and reduce in the
// same order, whatever each of them uses.
void ShardedStrategy::end_backward(std::size_t block) {
  ShardUnit& unit = *units_[block];
  if (reduces_now()) {
    unit.settle_missing_gradients();
    start_complete_reductions();
  }
  unit.release();
}

void ShardedStrategy::backward(const at::Tensor& loss, double weight) {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  had_backward_ = true;
  is_reached_.assign(num_blocks(), 0);
  loss.backward(at::full_like(loss.detach(), weight));
  has_backward_ = is_reached_;
  end_pass();
}

// The same collectives in the same order as on ranks that have samples.
void ShardedStrategy::backward_nothing() {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  is_reached_.assign(num_blocks(), 0);
  for (std::size_t block = num_blocks(); block-- > 0;) {
    if (has_backward_[block] == 0) continue;
    begin_backward(block);
    units_[block]->settle_missing_gradients();  // also when nothing is reduced yet
    end_backward(block);
  }
  root().settle_missing_gradients();
  end_pass();
}

void ShardedStrategy::take_gradient(std::size_t parameter, at::Tensor& grad) {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  const Place& place = places_[parameter];
  ShardUnit& unit = *units_[place.unit];
  unit.take_gradient(place.flat, place.slot, grad);
  grad.reset();
  had_gradient_[parameter] = 1;
  if (reduces_now() && unit.has_all_gradients()) start_complete_reductions();
}

void ShardedStrategy::start_complete_reductions() {
  while (next_reduction_ < reductions_.size() &&
         reductions_[next_reduction_]->has_all_gradients()) {
    ShardUnit* const unit = reductions_[next_reduction_++];
    unit->start_reduce();
    in_flight_.push_back(unit);
    if (in_flight_.size() > kMostReductionsInFlight) finish_oldest_reduction();
  }
}

void ShardedStrategy::finish_oldest_reduction() {
  ShardUnit* const unit = in_flight_.front();
  in_flight_.pop_front();
  exposed_s_ += unit->finish_reduce(/*add=*/!is_first_reduction_);
  if (!replica_group_ || !is_last_microbatch_) return;
  for (const auto& flat : unit->flats()) {
    if (!flat->is_trainable()) continue;
    replica_sums_.push_back(
        replica_group_->all_reduce(flat->grad_shard(), comm::ReduceOp::kSum, unit->name()));
  }
}

void ShardedStrategy::end_pass() {
  if (reduces_now()) {
    for (ShardUnit* unit : reductions_) unit->settle_missing_gradients();
    start_complete_reductions();
    while (!in_flight_.empty() && !is_last_microbatch_) finish_oldest_reduction();
  }
  for (std::size_t block = 0; block < num_blocks(); ++block) units_[block]->release();
}

void ShardedStrategy::finish_gradients() {
  PACELINE_CHECK(is_in_microbatch_ && is_last_microbatch_,
                 "finish_gradients without a last microbatch");
  is_in_microbatch_ = false;
  while (!in_flight_.empty()) finish_oldest_reduction();
  exposed_s_ += comm::wait_for_all(replica_sums_);
  root().release();
  state_was_loaded();  // the optimizer is about to change the shards
}

void ShardedStrategy::refuse_missing_gradients() {
  parallel::refuse_missing_gradients(refused_parameters(), {"fsdp"}, &world_);
}

/// What got no gradient on this rank in this step but should have. A rank without samples shows
/// nothing.
std::vector<std::string> ShardedStrategy::refused_parameters() const {
  std::vector<std::string> missing;
  if (config_.allow_unused_parameters || !had_backward_) return missing;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (had_gradient_[i] == 0) missing.push_back(trained_[i].name);
  }
  return missing;
}

void ShardedStrategy::reduce_over_shards(const at::Tensor& scalar, comm::ReduceOp op,
                                         std::string_view label) const {
  shard_group().all_reduce(scalar, op, label)->wait();
}

void ShardedStrategy::begin_evaluation() {
  synchronise_buffers();
  gather_root();
}

void ShardedStrategy::forward_nothing() {
  for (std::size_t block = 0; block < num_blocks(); ++block) {
    begin_forward(block);
    end_forward(block);
  }
}

void ShardedStrategy::end_evaluation() {
  for (const auto& unit : units_) unit->release();
}

void ShardedStrategy::synchronise_buffers() {
  if (config_.buffers == BufferPolicy::kBroadcast) broadcast_from_first_rank(buffers_, world_);
}

void ShardedStrategy::state_was_loaded() {
  for (const auto& unit : units_) unit->expire();
}

std::unique_ptr<Strategy> make_fsdp(const ShardedConfig& config, comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{.name = "fsdp", .keep_full = keep_full_of(config)}, config, communicator);
}

std::unique_ptr<Strategy> make_hsdp(const ShardedConfig& config, int shard_group_size,
                                    comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{
          .name = "hsdp", .keep_full = keep_full_of(config), .shard_group_size = shard_group_size},
      config, communicator);
}

std::unique_ptr<Strategy> make_zero1(const ShardedConfig& config,
                                     comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{
          .name = "zero1", .keep_full = KeepFull::kAlways, .accumulates_full_gradients = true},
      config, communicator);
}

std::unique_ptr<Strategy> make_zero2(const ShardedConfig& config,
                                     comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{.name = "zero2", .keep_full = KeepFull::kAlways}, config, communicator);
}

}  // namespace paceline::parallel
