#include "paceline/algorithms/sam/sam.h"

#include "paceline/base/error.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/train/train_state.h"

#include <utility>

namespace paceline::algorithms {
namespace {

void require_own_gradients(const parallel::Strategy& strategy) {
  if (strategy.has_own_gradients()) return;
  throw base::ConfigError(
      fmt::format("algorithms.sam.ascent: rank needs gradients of each rank's own, and strategy {} "
                  "reduces them as they come: write algorithms.sam.ascent=global",
                  strategy.name()));
}

void refuse_remembered_gradients(const parallel::Strategy& strategy) {
  if (strategy.gradient_state().empty()) return;
  throw base::ConfigError(
      "algorithms.sam takes gradients twice in a step, at other weights each time, and "
      "parallel.ddp.compression: powersgd adds what it left out of one to the next: choose fp16 or "
      "bf16, or leave one of them out");
}

}  // namespace

std::optional<train::PassSum> Sam::extra_pass(const train::TrainState& state) const {
  if ((state.clock.step + 1) % config_.interval != 0) return std::nullopt;
  return config_.ascent == Ascent::kRank ? train::PassSum::kOfThisRank
                                         : train::PassSum::kOfAllRanks;
}

// With a gradient that is not finite the weights stay where they are.
at::Tensor Sam::after_extra_pass(train::TrainState& state) {
  const at::NoGradGuard no_grad;
  const at::Tensor norm = parallel::grad_norm(*state.strategy);
  const at::Tensor is_finite = norm.isfinite();
  // Where reading costs nothing a pass over all weights may be saved.
  const bool is_known_finite = is_finite.is_cpu() && is_finite.item<bool>();
  const at::Tensor scale =
      at::where(is_finite, config_.rho / (norm + config_.epsilon), at::zeros_like(norm));
  for (const optim::ParamGroup& group : state.strategy->param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) {
      const at::Tensor weights = slot.param.detach();
      kept_.push_back({weights, weights.clone()});
      const at::Tensor climb = slot.grad * scale.to(slot.grad.scalar_type());
      weights.add_(is_known_finite ? climb : climb.masked_fill_(is_finite.logical_not(), 0));
    }
  }
  state.strategy->state_was_loaded();
  return is_finite.logical_not().to(at::kFloat);
}

std::uint64_t Sam::copied_bytes(const train::TrainState& state,
                                const train::FieldBytes& /*field_bytes*/) const {
  // Weights lie as their gradients do.
  return state.strategy->memory(/*num_microbatches=*/1).gradients;
}

void Sam::apply(train::Event event, train::TrainState& state, const train::RunContext& /*run*/) {
  if (event == train::Event::kPrepared) {
    if (config_.ascent == Ascent::kRank) require_own_gradients(*state.strategy);
    refuse_remembered_gradients(*state.strategy);
    return;
  }
  if (kept_.empty()) return;
  const at::NoGradGuard no_grad;
  for (const auto& [weights, values] : std::exchange(kept_, {})) weights.copy_(values);
  state.strategy->state_was_loaded();
}

std::unique_ptr<train::Algorithm> make(const SamConfig& config) {
  return std::make_unique<Sam>(config);
}

}  // namespace paceline::algorithms
