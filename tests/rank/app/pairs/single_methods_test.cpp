#include "rank/app/pairs/method_run.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

// Each method by itself: it does something with the settings of the pairs, and as much on two ranks
// as in two microbatches of one.

namespace paceline::app {
namespace {

std::vector<std::string> single_methods() {
  const auto registries = make_registries();
  const std::set<std::string> names = test::methods(*registries);
  return {names.begin(), names.end()};
}

/// Which each rank moves by its own samples, and one rank by all.
bool is_running_statistic(const std::string& name) {
  return name.find("running_") != std::string::npos || name.ends_with("num_batches_tracked");
}

class MethodPairsSingle : public ::testing::TestWithParam<std::string> {
 protected:
  /// The names of what is apart by more than roundings.
  static std::vector<std::string> apart(checkpoint::CheckpointReader one,
                                        checkpoint::CheckpointReader two) {
    std::vector<std::string> names;
    for (const auto& record : one.manifest().tensors) {
      if (is_running_statistic(record.name)) continue;
      const at::Tensor difference = one.tensor(record.name) - two.tensor(record.name);
      if (difference.abs().max().to(at::kDouble).item<double>() > 1e-10)
        names.push_back(record.name);
    }
    return names;
  }

  test::MethodRun run_;
};

TEST_P(MethodPairsSingle, DoesSomething) {
  run_.train(run_.load(test::overrides_of({}, "ddp"), 2), "without", 2);
  run_.train(run_.load(test::overrides_of({GetParam()}, "ddp"), 2), "with", 2);
  EXPECT_NE(run_.hashes_of("with"), run_.hashes_of("without"));
}

TEST_P(MethodPairsSingle, TrainsOnTwoRanksAsInTwoMicrobatchesOfOne) {
  test::Overrides overrides = test::overrides_of({GetParam()}, "fsdp");
  overrides.emplace_back("train.precision=fp64");
  const auto train = [&](const std::string& strategy, int world_size) {
    test::Overrides all = overrides;
    all.push_back("parallel.strategy=" + strategy);
    all.push_back(fmt::format("train.grad_accum_steps={}", 2 / world_size));
    run_.train(run_.load(all, world_size), strategy, world_size);
  };
  train("none", 1);
  train("ddp", 2);
  train("fsdp", 2);
  using Names = std::vector<std::string>;
  EXPECT_EQ(apart(run_.checkpoint_of("none"), run_.checkpoint_of("ddp")), Names());
  EXPECT_EQ(apart(run_.checkpoint_of("none"), run_.checkpoint_of("fsdp")), Names());
}

INSTANTIATE_TEST_SUITE_P(All, MethodPairsSingle, ::testing::ValuesIn(single_methods()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace paceline::app
