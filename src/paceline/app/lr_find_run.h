#pragma once

#include "paceline/app/session.h"
#include "paceline/app/train_request.h"
#include "paceline/optim/lr_find/lr_rules.h"

#include <optional>
#include <string>

namespace paceline::app {

/// What a learning rate range test found.
struct LrFindResult {
  optim::LrRange range;
  optim::LrCurve curve;
  std::string end;  ///< why it ended before its last step, for people; empty: it did not

  /// Nothing where the rule has too few points.
  std::optional<double> suggestion(optim::LrRule rule) const {
    return optim::suggested_rate(rule, curve, range.num_steps);
  }
};

/// Trains the request's recipe for range.num_steps steps with rising learning rates, in place of
/// its schedule, and throws everything away: weights, optimizer and data are those of this test
/// alone. Rates are values of optimizer.lr, so train.lr_scaling and lr_scale work on them as ever.
/// Nothing is evaluated, saved or logged, and algorithms that look at evaluations are left out.
///
/// The loss is the mean over the global batch, so all ranks stop together, and any number of ranks
/// finds the same. Every rank must call it. Throws base::Error; ConfigError for a recipe of phases
/// of which none is named, and for a range that is none; Interrupted after a signal.
LrFindResult find_lr(const TrainRequest& request, const optim::LrRange& range,
                     const SessionContext& context);

/// The rate by that rule. Throws ConfigError where it has too few points.
double require_suggestion(const LrFindResult& result, optim::LrRule rule);

/// `request` with the optimizer.lr that TrainRequest::lr_find finds, or, where the run goes on,
/// that it has; every rank must call it. Throws what find_lr() throws.
TrainRequest with_found_lr(const TrainRequest& request, const SessionContext& context);

}  // namespace paceline::app
