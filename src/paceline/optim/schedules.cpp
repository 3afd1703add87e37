#include "paceline/optim/schedules.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <utility>

namespace paceline::optim {
namespace {

class FunctionSchedule final : public Schedule {
 public:
  FunctionSchedule(std::string_view name, std::function<double(std::int64_t)> factor)
      : name_(name), factor_(std::move(factor)) {}
  std::string_view name() const override { return name_; }
  double factor(std::int64_t step) const override { return factor_(step); }

 private:
  std::string_view name_;  // of a literal
  std::function<double(std::int64_t)> factor_;
};

std::unique_ptr<Schedule> schedule(std::string_view name,
                                   std::function<double(std::int64_t)> factor) {
  return std::make_unique<FunctionSchedule>(name, std::move(factor));
}

struct LinearWarmup {
  std::int64_t steps;
  double start_factor;

  double operator()(std::int64_t step) const {
    if (step >= steps) return 1.0;
    return start_factor +
           (1.0 - start_factor) * static_cast<double>(step) / static_cast<double>(steps);
  }
};

/// The steps of a part of the run, which must not be longer than the run.
std::int64_t part_steps(std::string_view key, const config::Duration& duration,
                        const RunLength& length) {
  const std::int64_t steps = config::to_steps(duration, length);
  if (length.total_steps > 0 && steps > length.total_steps) {
    throw base::ConfigError(fmt::format(
        "schedule.{}: {} are {} optimizer steps, but the run has {}: shorten it, or write it as a "
        "share of the run, such as 0.05dur",
        key, duration.to_string(), steps, length.total_steps));
  }
  return steps;
}

template <class Config>
LinearWarmup make_warmup(const Config& config, const RunLength& length) {
  return {part_steps("warmup", config.warmup, length), config.warmup_start_factor};
}

std::int64_t known_total(std::string_view name, const RunLength& length) {
  if (length.total_steps <= 0) {
    throw base::ConfigError(fmt::format(
        "schedule.name: '{}' needs the length of the run in epochs, batches or samples, too: write "
        "train.duration as a list such as [90ep, 12h], whose first to come ends the run, or "
        "schedule=constant",
        name));
  }
  return length.total_steps;
}

/// From `from` to `to` along half a cosine as `share` goes from 0 to 1.
double cosine_between(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1.0 + std::cos(std::numbers::pi * share));
}

}  // namespace

std::unique_ptr<Schedule> make(const ConstantConfig& config, const RunLength& length) {
  return schedule("constant", make_warmup(config, length));
}

std::unique_ptr<Schedule> make(const CosineConfig& config, const RunLength& length) {
  const std::int64_t total = known_total("cosine", length);
  const LinearWarmup warmup = make_warmup(config, length);
  return schedule("cosine", [=, final = config.final_lr_ratio](std::int64_t step) {
    if (step < warmup.steps) return warmup(step);
    if (step >= total) return final;
    const double share =
        static_cast<double>(step - warmup.steps) / static_cast<double>(total - warmup.steps);
    return cosine_between(1.0, final, share);
  });
}

std::unique_ptr<Schedule> make(const StepConfig& config, const RunLength& length) {
  const LinearWarmup warmup = make_warmup(config, length);
  const std::int64_t every = config::to_steps(config.every, length);
  if (every <= 0) throw base::ConfigError("schedule.every: must be at least one optimizer step");
  return schedule("step", [=, gamma = config.gamma](std::int64_t step) {
    return warmup(step) * std::pow(gamma, static_cast<double>(step / every));
  });
}

std::unique_ptr<Schedule> make(const MultiStepConfig& config, const RunLength& length) {
  const LinearWarmup warmup = make_warmup(config, length);
  std::vector<std::int64_t> milestones;
  for (const config::Duration& milestone : config.milestones) {
    milestones.push_back(config::to_steps(milestone, length));
  }
  std::ranges::sort(milestones);
  return schedule("multistep", [=, gamma = config.gamma](std::int64_t step) {
    const auto passed = std::ranges::upper_bound(milestones, step) - milestones.begin();
    return warmup(step) * std::pow(gamma, static_cast<double>(passed));
  });
}

std::unique_ptr<Schedule> make(const OneCycleConfig& config, const RunLength& length) {
  const std::int64_t last = known_total("one_cycle", length) - 1;
  const std::int64_t peak = part_steps("warmup", config.warmup, length) - 1;
  if (peak < 1 || peak >= last) {
    throw base::ConfigError(fmt::format(
        "schedule.warmup: one_cycle must rise for at least 2 optimizer steps and fall for "
        "at least 1; {} gives {} of {}",
        config.warmup.to_string(), peak + 1, last + 1));
  }
  const double first_factor = 1.0 / config.div_factor;
  const double last_factor = first_factor / config.final_div_factor;
  return schedule("one_cycle", [=](std::int64_t step) {
    if (step <= peak) {
      return cosine_between(first_factor, 1.0,
                            static_cast<double>(step) / static_cast<double>(peak));
    }
    const double share =
        static_cast<double>(std::min(step, last) - peak) / static_cast<double>(last - peak);
    return cosine_between(1.0, last_factor, share);
  });
}

}  // namespace paceline::optim
