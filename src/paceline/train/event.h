#pragma once

#include <bitset>
#include <cstdint>
#include <initializer_list>

namespace paceline::train {

/// The training loop as a list of the points at which algorithms and callbacks act, in order:
///
///     kInit                              model surgery, before the strategy takes the parameters:
///                                        they have shapes and dtypes, but no memory and no values
///                                        yet; what replaces one holds its tensor or brings values
///     kPrepared                          the strategy holds the parameters, with their values; a
///                                        checkpoint is loaded after it
///     kFitStart
///       kEpochStart
///         kStepStart                     the whole batch of this rank is there
///           for each microbatch          Algorithm::transform(), once
///           for each microbatch          and once more where an algorithm takes an extra pass
///             kBeforeForward  kAfterForward  kBeforeLoss  kAfterLoss  kBeforeBackward
///             kAfterBackward
///           kGradientsReady              summed over microbatches and ranks, without fp16's
///                                        factor, not yet clipped
///           kBeforeOptimizerStep  kAfterOptimizerStep
///                                        where only their norm is limited gradients may still
///                                        lack its factor, which the optimizer then multiplies by;
///                                        these three also in a step that changes nothing, as
///                                        gradients, norm or loss are not finite: only the device
///                                        knows yet, and what is not finite may be seen here
///         kStepEnd                       the step is counted; its loss, counts and grad_norm are
///                                        known on the host, and logged
///       kEpochEnd                        after the last step of an epoch
///       kEvalStart  kEvalEnd             around each evaluation that is due, also where a signal
///                                        interrupts it: of the trained weights (or which stand for
///                                        them), then others' (TrainState::eval_weights)
///       kEvaluated                       the values of all are known
///       kSafePoint                       after each step and what it made due: state may be saved
///       here
///     kFitEnd
///     kException                         instead of the rest, when something throws
enum class Event : std::uint8_t {
  kInit,
  kPrepared,
  kFitStart,
  kEpochStart,
  kStepStart,
  kBeforeForward,
  kAfterForward,
  kBeforeLoss,
  kAfterLoss,
  kBeforeBackward,
  kAfterBackward,
  kGradientsReady,
  kBeforeOptimizerStep,
  kAfterOptimizerStep,
  kStepEnd,
  kEpochEnd,
  kEvalStart,
  kEvalEnd,
  kEvaluated,
  kSafePoint,
  kFitEnd,
  kException,
};
inline constexpr std::size_t kNumEvents = static_cast<std::size_t>(Event::kException) + 1;

/// Events that close what an earlier one opened; what ran first there runs last here.
constexpr bool is_after_event(Event event) {
  switch (event) {
    case Event::kAfterForward:
    case Event::kAfterLoss:
    case Event::kAfterBackward:
    case Event::kAfterOptimizerStep:
    case Event::kStepEnd:
    case Event::kEpochEnd:
    case Event::kEvalEnd:
    case Event::kFitEnd:
    case Event::kException:
      return true;
    default:
      return false;
  }
}

/// A set of events.
class EventSet {
 public:
  EventSet(std::initializer_list<Event> events) {
    for (const Event event : events) bits_.set(static_cast<std::size_t>(event));
  }
  bool contains(Event event) const { return bits_.test(static_cast<std::size_t>(event)); }

 private:
  std::bitset<kNumEvents> bits_;
};

}  // namespace paceline::train
