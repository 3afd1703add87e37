#include "paceline/parallel/gradient_limits.h"

#include "paceline/optim/muon.h"
#include "paceline/optim/param_groups.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/small_net.h"

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

/// A net with its optimizer; `limit` is done to each step's gradients.
struct LimitedRun {
  explicit LimitedRun(bool with_muon = false) {
    strategy->prepare(net, optim::weight_decay_rules(0.1, false, {}));
    if (with_muon) {
      optimizer = optim::make_optimizer(optim::MuonConfig{}, strategy->param_groups(),
                                        strategy->parameter_shards());
    } else {
      optimizer = optim::make_optimizer(optim::SgdConfig{}, strategy->param_groups());
    }
  }

  void take_steps(const std::function<void()>& limit, double weight = 1.0) {
    for (int step = 0; step < 3; ++step) {
      strategy->begin_microbatch(true, true);
      strategy->backward(paceline::test::summed_loss(net, 8 * step, 8), weight);
      strategy->finish_gradients();
      limit();
      strategy->update(*optimizer, 0.01);
    }
  }

  std::vector<at::Tensor> weights() const {
    std::vector<at::Tensor> values;
    for (const StateShard& shard : strategy->model_state()) values.push_back(shard.data.clone());
    return values;
  }

  paceline::test::SmallNet net;
  std::unique_ptr<ReplicatedStrategy> strategy = make_none({});
  std::unique_ptr<optim::Optimizer> optimizer;
};

void expect_equal_weights(const LimitedRun& one, const LimitedRun& other) {
  const std::vector<at::Tensor> own = one.weights(), others = other.weights();
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(own[i].equal(others[i])) << i;
}

using Limit = std::function<void(Strategy& strategy)>;

/// Runs with limits of every kind have the bits of runs whose gradients are written.
void expect_as(const Clipping& clipping, const Limit& limit, bool with_muon = false) {
  for (const bool watches : {false, true}) {
    LimitedRun run(with_muon), written(with_muon);
    GradientLimits limits(clipping, *run.strategy, *run.optimizer, watches);
    run.take_steps([&] { limits.apply(false); });
    written.take_steps([&] { limit(*written.strategy); });
    expect_equal_weights(run, written);
  }
}

TEST(GradientLimits, HaveTheBitsOfGradientsThatAreWritten) {
  const Limit by_norm = [](Strategy& strategy) { clip_grad_norm(strategy, 0.5); };
  expect_as({.norm = 0.5}, by_norm);
  expect_as({.norm = 0.5}, by_norm, /*with_muon=*/true);
  expect_as({.norm = 0.5, .value = 0.01}, [](Strategy& strategy) {
    clip_grad_norm(strategy, 0.5);
    clip_grad_value(strategy, 0.01);
  });
  expect_as({.adaptive = {{.threshold = 0.02, .floor = 1e-3}}}, [](Strategy& strategy) {
    AdaptiveClipper(strategy, {.threshold = 0.02, .floor = 1e-3}).clip();
  });
  expect_as({}, [](Strategy&) {});
}

TEST(GradientLimits, TellTheNormThatIsAskedForOrClippedBy) {
  LimitedRun run;
  GradientLimits none({}, *run.strategy, *run.optimizer, true);
  run.take_steps([&] {
    EXPECT_FALSE(none.apply(false).defined());
    EXPECT_EQ(none.apply(true).item<double>(), grad_norm(*run.strategy).item<double>());
  });
  GradientLimits limits({.norm = 1e-3}, *run.strategy, *run.optimizer, true);
  run.take_steps([&] {
    const double before = grad_norm(*run.strategy).item<double>();
    EXPECT_EQ(limits.apply(false).item<double>(), before);
  });
}

TEST(GradientLimits, LeaveWhatIsNotFinite) {
  LimitedRun run;
  GradientLimits limits({.norm = 0.5}, *run.strategy, *run.optimizer, true);
  double norm = 0;
  run.take_steps([&] { norm = limits.apply(false).item<double>(); },
                 std::numeric_limits<double>::infinity());
  EXPECT_FALSE(std::isfinite(norm));
}

}  // namespace
}  // namespace paceline::parallel
