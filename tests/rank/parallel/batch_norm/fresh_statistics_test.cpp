// What they are is compared with torch's in tests/golden/parallel/fresh_statistics_test.cpp.

#include "paceline/parallel/batch_norm/fresh_statistics.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::wave;

/// Two norms, the second one behind a branch.
struct BranchedNet : torch::nn::Module {
  BranchedNet() {
    outer = register_module("outer", std::make_shared<nn::BatchNorm2d>(2));
    inner = register_module("inner", std::make_shared<nn::BatchNorm2d>(2));
    drop_path = register_module("drop_path", std::make_shared<nn::DropPath>(0.5, 0));
    to(at::kDouble);
  }
  at::Tensor forward(const at::Tensor& images, const nn::ForwardContext& context) const {
    const at::Tensor outputs = outer->forward(images);
    if (drop_path->drops_all(images.size(0), context)) return outputs;
    return outputs + drop_path->forward(inner->forward(outputs), images.size(0), context);
  }

  std::shared_ptr<nn::BatchNorm2d> outer, inner;
  std::shared_ptr<nn::DropPath> drop_path;
};

TEST(FreshStatistics, ChangeNothingUntilTheyAreStored) {
  paceline::test::run_ranks(1, [](comm::Communicator& ranks) {
    const at::NoGradGuard no_grad;
    BranchedNet net;
    int num_calls = 0;
    net.outer->set_training_kernel([&](const at::Tensor& input, const nn::BatchNorm2d&) {
      ++num_calls;
      return input;
    });
    net.drop_path->set_rule({.rate = 0.5, .group = 0});
    std::optional<FreshStatistics> statistics(std::in_place, net, ranks);
    const at::Tensor images = wave({4, 2, 3, 3}, 1) + 5;
    net.forward(images, {});
    statistics.reset();
    EXPECT_EQ(num_calls, 0);
    for (const auto& norm : {net.outer, net.inner}) {
      EXPECT_EQ(norm->running_mean.abs().sum().item<double>(), 0);
      EXPECT_EQ(norm->running_var.sum().item<double>(), 2);
      EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 0);
    }
    EXPECT_EQ(net.drop_path->rule().group, 0);
    EXPECT_FALSE(net.inner->has_training_kernel());
    net.outer->forward(images);
    EXPECT_EQ(num_calls, 1) << "its own kernel is back";
  });
}

TEST(FreshStatistics, LeaveFrozenNormsAndThoseThatNoPassReached) {
  paceline::test::run_ranks(1, [](comm::Communicator& ranks) {
    const at::NoGradGuard no_grad;
    BranchedNet net;
    net.outer->set_frozen(true);
    net.outer->running_mean.fill_(3);
    net.inner->running_mean.fill_(4);
    FreshStatistics statistics(net, ranks);
    net.outer->forward(wave({4, 2, 3, 3}, 1) + 5);
    statistics.store();
    EXPECT_EQ(net.outer->running_mean[0].item<double>(), 3);
    EXPECT_EQ(net.inner->running_mean[0].item<double>(), 4);
    net.inner->forward(wave({4, 2, 3, 3}, 1) + 5);
    statistics.store();
    EXPECT_NEAR(net.inner->running_mean[0].item<double>(), 5, 0.5);
  });
}

// By the rule some ranks would leave the branch, and its norm, out, and the others wait for them.
TEST(FreshStatistics, PassThroughBranchesThatRanksDropOnTheirOwn) {
  std::vector<at::Tensor> inner_means;
  for (const int world_size : {1, 2, 4}) {
    at::Tensor mean;
    paceline::test::run_ranks(world_size, [&](comm::Communicator& ranks) {
      const at::NoGradGuard no_grad;
      BranchedNet net;
      net.drop_path->set_rule({.rate = 0.5, .group = 0});
      FreshStatistics statistics(net, ranks);
      const std::int64_t share = 8 / world_size;
      const std::int64_t first = ranks.rank() * share;
      for (std::int64_t step = 0; step < 4; ++step) {
        const at::Tensor images = wave({8, 2, 3, 3}, static_cast<double>(step)) + 5;
        net.forward(images.narrow(0, first, share), {1, step, first});
      }
      statistics.store();
      EXPECT_EQ(net.inner->num_batches_tracked.item<std::int64_t>(), 4);
      if (ranks.rank() == 0) mean = net.inner->running_mean.clone();
    });
    inner_means.push_back(mean);
  }
  for (const at::Tensor& mean : inner_means)
    EXPECT_TRUE(at::allclose(mean, inner_means.front(), 1e-12, 1e-12));
}

TEST(FreshStatistics, AreNotForPassesWithGradients) {
  paceline::test::run_ranks(1, [](comm::Communicator& ranks) {
    BranchedNet net;
    const FreshStatistics statistics(net, ranks);
    EXPECT_THROW(net.outer->forward(wave({4, 2, 3, 3}, 1)), base::InternalError);
  });
}

}  // namespace
}  // namespace paceline::parallel
