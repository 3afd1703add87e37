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

/// Of the steps between two moves of the rate each has the factor of the first.
template <class Config>
std::unique_ptr<Schedule> schedule(std::string_view name, const Config& config,
                                   const RunLength& length,
                                   std::function<double(std::int64_t)> factor) {
  if (config.moves == RateMoves::kStep)
    return std::make_unique<FunctionSchedule>(name, std::move(factor));
  const std::int64_t between = std::max<std::int64_t>(length.steps_per_epoch, 1);
  return std::make_unique<FunctionSchedule>(
      name, [factor = std::move(factor), between](std::int64_t step) {
        return factor(step / between * between);
      });
}

struct Warmup {
  std::int64_t steps;
  double start_factor;
  WarmupShape shape;

  double operator()(std::int64_t step) const {
    if (step >= steps) return 1.0;
    const double share = static_cast<double>(step) / static_cast<double>(steps);
    switch (shape) {
      case WarmupShape::kExponential:
        return std::pow(start_factor, 1.0 - share);
      case WarmupShape::kConstant:
        return start_factor;
      case WarmupShape::kLinear:
        break;
    }
    return start_factor + (1.0 - start_factor) * share;
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
Warmup make_warmup(const Config& config, const RunLength& length) {
  const std::int64_t steps = part_steps("warmup", config.warmup, length);
  const bool never_rises =
      config.warmup_shape == WarmupShape::kExponential && config.warmup_start_factor == 0;
  if (steps > 0 && never_rises) {
    throw base::ConfigError(
        "schedule.warmup_start_factor: an exponential warm-up never leaves 0; give it a factor "
        "above 0, or take schedule.warmup_shape=linear");
  }
  return {steps, config.warmup_start_factor, config.warmup_shape};
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

/// Cycles of steps, each a factor longer than the one before.
class Cycles {
 public:
  struct Place {
    double number;  ///< of the cycle, from 0 on
    double share;   ///< of it that is over
  };

  Cycles(std::int64_t first, double factor) : first_(static_cast<double>(first)), factor_(factor) {}

  Place at(std::int64_t step) const {
    const auto done = static_cast<double>(step);
    if (factor_ == 1) {
      const double number = std::floor(done / first_);
      return {number, done / first_ - number};
    }
    double number = 0, begin = 0, size = first_;
    while (begin + size <= done) {
      begin += size;
      size *= factor_;
      ++number;
    }
    return {number, (done - begin) / size};
  }

 private:
  double first_, factor_;
};

/// From 1 down to `last` as shape(share of what follows the warm-up) goes from 1 to 0.
template <class Config>
std::unique_ptr<Schedule> fall(std::string_view name, const Config& config, const RunLength& length,
                               const std::function<double(double)>& shape) {
  const std::int64_t total = known_total(name, length);
  const Warmup warmup = make_warmup(config, length);
  return schedule(name, config, length, [=, last = config.final_lr_ratio](std::int64_t step) {
    if (step < warmup.steps) return warmup(step);
    if (step >= total) return last;
    const double share =
        static_cast<double>(step - warmup.steps) / static_cast<double>(total - warmup.steps);
    return last + (1.0 - last) * shape(share);
  });
}

/// At least one step.
std::int64_t at_least_one_step(std::string_view key, const config::Duration& duration,
                               const RunLength& length) {
  const std::int64_t steps = config::to_steps(duration, length);
  if (steps <= 0)
    throw base::ConfigError(fmt::format("schedule.{}: must be at least one optimizer step", key));
  return steps;
}

class OneCycle final : public Schedule {
 public:
  /// The steps of the peak and of the end.
  OneCycle(const OneCycleConfig& config, std::int64_t peak, std::int64_t last)
      : config_(config), peak_(peak), last_(last) {}
  std::string_view name() const override { return "one_cycle"; }

  double factor(std::int64_t step) const override {
    const double first = 1.0 / config_.div_factor;
    return between(step, first, 1.0, first / config_.final_div_factor);
  }

  std::optional<double> momentum(std::int64_t step) const override {
    if (!config_.max_momentum) return std::nullopt;
    return between(step, *config_.max_momentum, config_.base_momentum, *config_.max_momentum);
  }

 private:
  double between(std::int64_t step, double first, double at_peak, double at_last) const {
    if (step <= peak_)
      return cosine_between(first, at_peak, static_cast<double>(step) / static_cast<double>(peak_));
    const double share =
        static_cast<double>(std::min(step, last_) - peak_) / static_cast<double>(last_ - peak_);
    return cosine_between(at_peak, at_last, share);
  }

  OneCycleConfig config_;
  std::int64_t peak_, last_;
};

}  // namespace

std::unique_ptr<Schedule> make(const ConstantConfig& config, const RunLength& length) {
  return schedule("constant", config, length, make_warmup(config, length));
}

std::unique_ptr<Schedule> make(const CosineConfig& config, const RunLength& length) {
  const std::int64_t total = known_total("cosine", length);
  const Warmup warmup = make_warmup(config, length);
  if (!config.cycle && (config.cycle_mul != 1 || config.cycle_decay != 1)) {
    throw base::ConfigError(
        "schedule.cycle: cycle_mul and cycle_decay are for cycles; say how long the first is");
  }
  const std::int64_t first = config.from_start ? 0 : warmup.steps;
  const Cycles cycles(config.cycle ? at_least_one_step("cycle", *config.cycle, length)
                                   : std::max<std::int64_t>(total - first, 1),
                      config.cycle_mul);
  return schedule("cosine", config, length, [=](std::int64_t step) {
    if (step < warmup.steps) return warmup(step);
    if (step >= total) return config.final_lr_ratio;
    const Cycles::Place place = cycles.at(step - first);
    return cosine_between(std::pow(config.cycle_decay, place.number), config.final_lr_ratio,
                          std::pow(place.share, config.k_decay));
  });
}

std::unique_ptr<Schedule> make(const PolynomialConfig& config, const RunLength& length) {
  return fall("polynomial", config, length,
              [power = config.power](double share) { return std::pow(1.0 - share, power); });
}

std::unique_ptr<Schedule> make(const LinearConfig& config, const RunLength& length) {
  return fall("linear", config, length, [](double share) { return 1.0 - share; });
}

std::unique_ptr<Schedule> make(const ExponentialConfig& config, const RunLength& length) {
  const Warmup warmup = make_warmup(config, length);
  const auto every = static_cast<double>(at_least_one_step("every", config.every, length));
  return schedule("exponential", config, length, [=, gamma = config.gamma](std::int64_t step) {
    return warmup(step) * std::pow(gamma, static_cast<double>(step) / every);
  });
}

std::unique_ptr<Schedule> make(const InverseSqrtConfig& config, const RunLength& length) {
  const Warmup warmup = make_warmup(config, length);
  constexpr std::int64_t kUsual = 10'000;
  const std::int64_t shortest = warmup.steps > 0 ? warmup.steps : kUsual;
  const auto timescale = static_cast<double>(
      config.timescale ? at_least_one_step("timescale", *config.timescale, length) : shortest);
  return schedule("inverse_sqrt", config, length, [=](std::int64_t step) {
    if (step < warmup.steps) return warmup(step);
    return std::sqrt(timescale / (static_cast<double>(step - warmup.steps) + timescale));
  });
}

std::unique_ptr<Schedule> make(const StepConfig& config, const RunLength& length) {
  const Warmup warmup = make_warmup(config, length);
  const std::int64_t every = at_least_one_step("every", config.every, length);
  return schedule("step", config, length, [=, gamma = config.gamma](std::int64_t step) {
    return warmup(step) * std::pow(gamma, static_cast<double>(step / every));
  });
}

std::unique_ptr<Schedule> make(const MultiStepConfig& config, const RunLength& length) {
  const Warmup warmup = make_warmup(config, length);
  std::vector<std::int64_t> milestones;
  for (const config::Duration& milestone : config.milestones) {
    milestones.push_back(config::to_steps(milestone, length));
  }
  std::ranges::sort(milestones);
  return schedule("multistep", config, length, [=, gamma = config.gamma](std::int64_t step) {
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
  return std::make_unique<OneCycle>(config, peak, last);
}

}  // namespace paceline::optim
