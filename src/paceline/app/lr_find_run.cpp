#include "paceline/app/lr_find_run.h"

#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/parse.h"
#include "paceline/train/run_context.h"
#include "paceline/train/trainer.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace paceline::app {
namespace {

/// Has the optimizer's learning rate be the range's, step by step.
class RangeSchedule final : public optim::Schedule {
 public:
  RangeSchedule(const optim::LrRange& range, double base_lr) : range_(range), base_lr_(base_lr) {}
  std::string_view name() const override { return "lr_find"; }
  double factor(std::int64_t step) const override { return range_.rate(step) / base_lr_; }

 private:
  optim::LrRange range_;
  double base_lr_;
};

/// Notes each step's loss, and asks for the end when it has grown too large.
class RangeWatch final : public train::Callback {
 public:
  RangeWatch(const optim::LrRange& range, optim::LrCurve& curve) : range_(range), curve_(curve) {}

  std::string_view name() const override { return "lr_find"; }
  train::CallbackTraits traits() const override { return {.events = {train::Event::kStepEnd}}; }
  std::optional<std::string> on_event(train::Event /*event*/, const train::TrainState& state,
                                      const train::RunContext& run) override {
    curve_.rates.push_back(range_.rate(state.clock.step - 1));
    curve_.losses.push_back(state.step_totals.mean_loss());
    const std::vector<double> means = optim::smoothed(curve_.losses, range_.style);
    if (run.is_main_rank()) tell(means.back());
    if (!optim::has_diverged(means, range_.style)) return std::nullopt;
    return fmt::format("the loss has grown to {:.4g}", means.back());
  }

 private:
  void tell(double mean) {
    constexpr std::int64_t kLines = 10;
    const std::int64_t done = std::ssize(curve_.rates), all = range_.num_steps;
    const double now_s = base::SystemClock().monotonic_s();
    if (done == 1) first_end_s_ = now_s;  // it also pays for memory and kernels that are cold
    if (done == 1 || done * kLines / all == (done - 1) * kLines / all) return;
    const double step_s = (now_s - first_end_s_) / static_cast<double>(done - 1);
    base::log_info("lr-find: step {}/{}, learning rate {:.3g}, smoothed loss {:.4g}, {:.0f} s left",
                   done, all, curve_.rates.back(), mean, step_s * static_cast<double>(all - done));
  }

  optim::LrRange range_;
  optim::LrCurve& curve_;
  double first_end_s_ = 0;  ///< of the first step
};

void check(const optim::LrRange& range) {
  constexpr std::int64_t kLeastSteps = 6;  // as fastai
  if (!(range.low > 0 && range.high > range.low && std::isfinite(range.high))) {
    throw base::ConfigError(fmt::format(
        "lr-find: from {} to {} is no range of learning rates: give --min and --max, 0 < min < max",
        range.low, range.high));
  }
  if (range.num_steps < kLeastSteps) {
    throw base::ConfigError(fmt::format("lr-find: {} steps tell nothing: give --steps {} or more",
                                        range.num_steps, kLeastSteps));
  }
}

PhasedRecipe load(const TrainRequest& request, const config::BindContext& context) {
  return load_single_phase(request, context, "lr-find", "each with a learning rate of its own");
}

/// Every rank must look for the same, or they would train apart.
void agree_on_range(const optim::LrRange& range, comm::Communicator& communicator) {
  comm::agree(communicator, {{"lr-find", fmt::format("like {} from {} to {} in {} steps",
                                                     config::enum_name(range.style), range.low,
                                                     range.high, range.num_steps)}});
}

/// Without what a test has no use for.
Recipe recipe_of_test(Recipe recipe, const Registries& registries) {
  recipe.train.eval_every.reset();
  recipe.train.stop_when.reset();
  recipe.train.min_duration.reset();
  recipe.callbacks.clear();
  std::erase_if(recipe.algorithms, [&](const auto& named) {
    return !registries.algorithms.build(named.second)->metrics_in_use().empty();
  });
  return recipe;
}

double base_lr_of_recipe(const Recipe& recipe, const Registries& registries) {
  const double lr = registries.optimizers.build(recipe.optimizer)->lr;
  if (lr > 0) return lr;
  throw base::ConfigError("lr-find: optimizer.lr is 0, by which nothing can be scaled");
}

/// Runs the test into `result`.
void run_test(LoadedRecipe loaded, const SessionContext& context, LrFindResult& result) {
  const Recipe recipe = recipe_of_test(loaded.recipe, context.registries);
  SessionChanges changes;
  changes.duration = config::DurationList{
      {{static_cast<double>(result.range.num_steps), config::TimeUnit::kBatch}}};
  changes.schedule =
      std::make_unique<RangeSchedule>(result.range, base_lr_of_recipe(recipe, context.registries));
  changes.callbacks.push_back(std::make_unique<RangeWatch>(result.range, result.curve));
  Session session(recipe, context, std::move(changes), std::move(loaded.train_set));
  comm::agree(context.communicator, session.inputs());
  try {
    const train::FitResult end = session.trainer().fit();
    if (end.reason == train::FitResult::Reason::kSignal)
      throw base::Interrupted(end.signal, "finding a learning rate");
    if (end.reason == train::FitResult::Reason::kCallback) result.end = end.text;
  } catch (const base::DivergedError& error) {  // on all ranks, and no surprise here
    result.curve.rates.push_back(result.range.rate(session.state().clock.step));
    result.curve.losses.push_back(std::numeric_limits<double>::quiet_NaN());
    result.end = error.what();
  }
}

/// optimizer.lr of the run in that directory; empty if none has begun there.
std::string lr_of_run(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kConfigFile;
  if (!base::file_exists(file)) return "";
  const config::Node written = config::parse_yaml(base::read_file(file), file.string());
  const config::Node* const optimizer = written.find("optimizer");
  const config::Node* const lr = optimizer != nullptr ? optimizer->find("lr") : nullptr;
  return lr != nullptr ? lr->text : "";
}

}  // namespace

LrFindResult find_lr(const TrainRequest& request, const optim::LrRange& range,
                     const SessionContext& context) {
  check(range);
  const int world_size = context.communicator.world_size();
  PhasedRecipe recipe = load(request, context.registries.context(world_size));
  LoadedRecipe loaded =
      load_recipe(std::move(recipe.phases.front().recipe), context.registries, world_size,
                  context.device.place().type(), &context.interruption);
  context.communicator.set_timeout(collective_timeout(loaded.recipe.parallel));
  agree_on_range(range, context.communicator);
  agree_on_recipe(loaded, context.communicator);
  LrFindResult result;
  result.range = range;
  run_test(std::move(loaded), context, result);
  return result;
}

double require_suggestion(const LrFindResult& result, optim::LrRule rule) {
  if (const auto rate = result.suggestion(rule)) return *rate;
  throw base::ConfigError(fmt::format(
      "lr-find: the test ended after {} of {} steps{}, too few points for the rule {}: begin at a "
      "lower rate (--min), take more steps (--steps), or another --rule",
      result.curve.rates.size(), result.range.num_steps,
      result.end.empty() ? "" : " (" + result.end + ")", config::enum_name(rule)));
}

TrainRequest with_found_lr(const TrainRequest& request, const SessionContext& context) {
  TrainRequest found = request;
  const LrFindChoice choice = *std::exchange(found.lr_find, std::nullopt);
  // Phases are refused, also where the run goes on and nothing is looked for.
  load(found, context.registries.context(context.communicator.world_size()));
  std::string lr;
  if (request.resume == "auto" && request.run_directory) {
    lr = comm::first_rank_decides(context.communicator,
                                  [&] { return lr_of_run(*request.run_directory); });
  }
  const bool is_kept = !lr.empty();
  if (!is_kept) {
    const LrFindResult result = find_lr(found, choice.range, context);
    lr = fmt::format("{}", require_suggestion(result, choice.rule));
  }
  if (context.communicator.rank() == 0)
    base::log_info("lr-find: optimizer.lr={}, {}", lr,
                   is_kept ? "as the run in " + request.run_directory->string() + " has it"
                           : fmt::format("by the rule {}", config::enum_name(choice.rule)));
  found.overrides_on_top.push_back("optimizer.lr=" + lr);
  return found;
}

}  // namespace paceline::app
