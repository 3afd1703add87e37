#include "paceline/parallel/sharded/sharded_schedule.h"

#include "paceline/base/error.h"
#include "paceline/comm/collective.h"
#include "paceline/tensor/torch.h"

#include <algorithm>

namespace paceline::parallel {

ShardedSchedule::ShardedSchedule(const ShardedLayout& layout, const ScheduleOptions& options,
                                 comm::Communicator* replicas)
    : layout_(layout),
      options_(options),
      replicas_(replicas),
      is_trained_(layout.trained().size(), 1),
      has_backward_(layout.reached_by_backward()),
      hooks_(layout.trained(),
             [this](std::size_t i, at::Tensor& grad) { take_gradient(i, grad); }) {
  wrap_blocks();
}

ShardedSchedule::~ShardedSchedule() {
  for (const auto& gate : gates_) gate->remove();
}

void ShardedSchedule::wrap_blocks() {
  BlockObserver& observer = *this;
  for (std::size_t number = 0; number < layout_.num_blocks(); ++number) {
    const std::vector<nn::NamedUnit>& blocks = layout_.blocks()[number];
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      gates_.push_back(
          std::make_shared<ShardGate>(observer, number, i == 0, i + 1 == blocks.size()));
      blocks[i].unit->wrap(gates_.back());
    }
  }
}

void ShardedSchedule::follow_trainable() {
  for (const auto& unit : layout_.units()) unit->follow_trainable();
  for (std::size_t i = 0; i < is_trained_.size(); ++i)
    is_trained_[i] = layout_.trained()[i].tensor.requires_grad() ? 1 : 0;
  has_backward_ = layout_.reached_by_backward();
}

void ShardedSchedule::begin_microbatch(bool is_first, bool is_last) {
  is_in_microbatch_ = true;
  is_last_microbatch_ = is_last;
  is_first_reduction_ = is_first || options_.accumulates_full_gradients;
  if (is_first) {
    exposed_s_ = 0;
    had_backward_ = false;
    had_gradient_.assign(layout_.trained().size(), 0);
  }
  for (const auto& unit : layout_.units()) {
    unit->begin_gradients(/*starts_sum=*/is_first || !options_.accumulates_full_gradients);
  }
  next_reduction_ = 0;
  exposed_s_ += gather_root();
}

bool ShardedSchedule::is_idle(std::size_t block) const {
  return std::ranges::all_of(layout_.blocks()[block],
                             [](const nn::NamedUnit& named) { return named.unit->is_idle(); });
}

void ShardedSchedule::start_gathers(std::size_t block, std::size_t count) {
  for (; block < layout_.num_blocks() && count > 0; ++block) {
    if (is_idle(block)) continue;
    unit(block).start_gather();
    --count;
  }
}

double ShardedSchedule::gather_root() {
  layout_.root().start_gather();
  start_gathers(0, 1);
  return layout_.root().finish_gather();
}

void ShardedSchedule::hold_all() {
  for (const auto& unit : layout_.units()) unit->start_gather();
  for (const auto& unit : layout_.units()) unit->finish_gather();
  holds_all_ = true;
}

void ShardedSchedule::begin_forward(std::size_t block) {
  if (holds_all_) return;
  exposed_s_ += unit(block).finish_gather();
  start_gathers(block + 1, options_.prefetch);
}

void ShardedSchedule::end_forward(std::size_t block) {
  if (holds_all_) return;
  const bool needs_backward = is_in_microbatch_ && at::GradMode::is_enabled();
  // Backward begins with the last block.
  const bool stays = needs_backward && (options_.keep_full != KeepFull::kUntilForwardEnds ||
                                        block + 1 == layout_.num_blocks());
  if (!stays) unit(block).release();
}

void ShardedSchedule::forward_nothing() {
  if (holds_all_) return;
  for (std::size_t block = 0; block < layout_.num_blocks(); ++block) {
    if (is_idle(block)) continue;
    begin_forward(block);
    end_forward(block);
  }
}

void ShardedSchedule::begin_backward(std::size_t block) {
  is_reached_[block] = 1;
  exposed_s_ += unit(block).finish_gather();
  const std::size_t count = std::min(block, options_.prefetch);
  for (std::size_t i = 1; i <= count; ++i) {
    if (has_backward_[block - i] != 0) unit(block - i).start_gather();
  }
}

// A block without some of its gradients is reduced here, so that all ranks gather and reduce in the
// same order, whatever each of them uses.
void ShardedSchedule::end_backward(std::size_t block) {
  if (reduces_now()) {
    unit(block).zero_missing_gradients();
    start_complete_reductions();
  }
  unit(block).release();
}

void ShardedSchedule::backward(const at::Tensor& loss, double weight) {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  had_backward_ = true;
  is_reached_.assign(layout_.num_blocks(), 0);
  loss.backward(at::full_like(loss.detach(), weight));
  has_backward_ = is_reached_;
  end_pass();
}

// The same collectives in the same order as on ranks that have samples.
void ShardedSchedule::backward_nothing() {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  is_reached_.assign(layout_.num_blocks(), 0);
  for (std::size_t block = layout_.num_blocks(); block-- > 0;) {
    if (has_backward_[block] == 0) continue;
    begin_backward(block);
    unit(block).zero_missing_gradients();  // also when nothing is reduced yet
    end_backward(block);
  }
  layout_.root().zero_missing_gradients();
  end_pass();
}

void ShardedSchedule::take_gradient(std::size_t parameter, at::Tensor& grad) {
  PACELINE_CHECK(is_in_microbatch_, "backward without begin_microbatch");
  const ShardPlace& place = layout_.place_of_trained(parameter);
  unit(place.unit).take_gradient(place.flat, place.slot, grad);
  grad.reset();
  had_gradient_[parameter] = 1;
  if (reduces_now() && unit(place.unit).has_all_gradients()) start_complete_reductions();
}

void ShardedSchedule::start_complete_reductions() {
  const std::vector<ShardUnit*>& units = layout_.reductions();
  while (next_reduction_ < units.size() && units[next_reduction_]->has_all_gradients()) {
    ShardUnit* const unit = units[next_reduction_++];
    if (!unit->is_trainable()) continue;  // frozen meanwhile
    unit->start_reduce();
    in_flight_.push_back(unit);
    if (in_flight_.size() > kMostReductionsInFlight) finish_oldest_reduction();
  }
}

void ShardedSchedule::finish_oldest_reduction() {
  ShardUnit* const unit = in_flight_.front();
  in_flight_.pop_front();
  exposed_s_ += unit->finish_reduce(/*add=*/!is_first_reduction_);
  if (replicas_ == nullptr || !is_last_microbatch_) return;
  for (const auto& flat : unit->flats()) {
    if (!flat->is_trainable()) continue;
    replica_sums_.push_back(
        replicas_->all_reduce(flat->grad_shard(), comm::ReduceOp::kSum, unit->name()));
  }
}

void ShardedSchedule::end_pass() {
  if (reduces_now()) {
    for (ShardUnit* unit : layout_.reductions()) unit->zero_missing_gradients();
    start_complete_reductions();
    while (!in_flight_.empty() && !is_last_microbatch_) finish_oldest_reduction();
  }
  for (std::size_t block = 0; block < layout_.num_blocks(); ++block) unit(block).release();
}

void ShardedSchedule::finish_gradients() {
  PACELINE_CHECK(is_in_microbatch_ && is_last_microbatch_,
                 "finish_gradients without a last microbatch");
  is_in_microbatch_ = false;
  while (!in_flight_.empty()) finish_oldest_reduction();
  exposed_s_ += comm::wait_for_all(replica_sums_);
  layout_.root().release();
  expire();  // the optimizer is about to change the shards
}

void ShardedSchedule::release_all() {
  holds_all_ = false;
  for (const auto& unit : layout_.units()) unit->release();
}

void ShardedSchedule::expire() {
  for (const auto& unit : layout_.units()) unit->expire();
}

std::vector<std::string> ShardedSchedule::without_gradient() const {
  std::vector<std::string> names;
  if (!had_backward_) return names;
  for (std::size_t i = 0; i < had_gradient_.size(); ++i) {
    if (had_gradient_[i] == 0 && is_trained_[i] != 0) names.push_back(layout_.trained()[i].name);
  }
  return names;
}

}  // namespace paceline::parallel
