#include "paceline/parallel/replicated/bucketed_gradients.h"

#include "support/small_net.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using testing::IsEmpty;
using testing::Not;

/// On one rank; gradients are put into the buckets as they come.
class BucketedGradientsTest : public testing::Test {
 protected:
  void make(const DdpConfig& config) {
    config_ = config;
    gradients_.emplace(trainable_parameters(net_), optim::weight_decay_rules(0.0, true, {}),
                       config_, "none", nullptr, [this](std::size_t slot, at::Tensor& grad) {
                         gradients_->take(slot, grad, /*is_final=*/true);
                         grad.reset();
                       });
  }

  void reduce(const at::Tensor& loss) {
    gradients_->begin();
    gradients_->begin_backward();
    loss.backward();
    gradients_->start_rest(/*had_backward=*/true);
    gradients_->start_exchange(/*had_backward=*/true);
    gradients_->finish();
  }

  std::string name(std::size_t slot) const { return gradients_->parameters()[slot].name; }

  paceline::test::SmallNet net_;
  DdpConfig config_;
  std::optional<BucketedGradients> gradients_;
};

TEST_F(BucketedGradientsTest, LieInTheOrderOfTheLayout) {
  make({.first_bucket_mib = 1e-5, .bucket_mib = 1e-5});
  ASSERT_EQ(gradients_->parameters().size(), gradients_->layout().slots.size());
  for (std::size_t slot = 0; slot < gradients_->parameters().size(); ++slot) {
    EXPECT_EQ(name(slot), gradients_->layout().slots[slot].spec.name);
    EXPECT_TRUE(gradients_->share(slot).is_alias_of(gradients_->flats().front()));
    EXPECT_FALSE(gradients_->share(slot).is_view()) << "optimizers may detach it";
  }
}

TEST_F(BucketedGradientsTest, WhatGotNoneIsZerosAndRefused) {
  make({});
  gradients_->flats().front().fill_(7);  // of an earlier step
  reduce(net_.conv_bias.sum());
  EXPECT_THAT(gradients_->missing().names, Not(IsEmpty()));
  EXPECT_EQ(gradients_->untouched().size(), gradients_->parameters().size() - 1);
  for (std::size_t slot = 0; slot < gradients_->parameters().size(); ++slot) {
    EXPECT_EQ(gradients_->share(slot).max().item<double>(), name(slot) == "conv_bias" ? 1 : 0);
  }
  reduce(paceline::test::summed_loss(net_, 0, 4));
  EXPECT_THAT(gradients_->missing().names, IsEmpty());
  EXPECT_THAT(gradients_->untouched(), IsEmpty());
}

TEST_F(BucketedGradientsTest, OfAStaticGraphRefuseWhatTheFirstStepDidNotUse) {
  make({.static_graph = true});
  reduce(net_.conv_bias.sum());
  EXPECT_THAT(gradients_->missing().names, IsEmpty());
  reduce(net_.conv_bias.sum());
  EXPECT_THAT(gradients_->missing().names, IsEmpty());
  reduce(net_.conv_bias.sum() + net_.head_bias.sum());
  EXPECT_THAT(gradients_->missing().names, Not(IsEmpty()));
}

TEST_F(BucketedGradientsTest, WhatRequiresNoGradientAnyMoreIsZerosAndNotMissed) {
  make({});
  reduce(paceline::test::summed_loss(net_, 0, 4));
  net_.conv_weight.requires_grad_(false);
  gradients_->follow_trainable();
  for (int step = 0; step < 2; ++step) {
    reduce(paceline::test::summed_loss(net_, 0, 4));
    EXPECT_THAT(gradients_->missing().names, IsEmpty());
    EXPECT_THAT(gradients_->untouched(), IsEmpty());
    for (std::size_t slot = 0; slot < gradients_->parameters().size(); ++slot) {
      EXPECT_EQ(gradients_->share(slot).count_nonzero().item<std::int64_t>() == 0,
                name(slot) == "conv_weight")
          << name(slot);
    }
  }
  net_.conv_weight.requires_grad_(true);
  gradients_->follow_trainable();
  reduce(net_.conv_bias.sum());
  EXPECT_EQ(gradients_->missing().names.size(), gradients_->parameters().size() - 1);
}

TEST_F(BucketedGradientsTest, ZerosStandForAPassThatWasNot) {
  make({});
  gradients_->flats().front().fill_(7);
  gradients_->begin();
  EXPECT_FALSE(gradients_->has_ready());
  gradients_->take(0, gradients_->share(0).clone().fill_(2), /*is_final=*/false);
  gradients_->take_zeros(/*is_ready=*/true);
  EXPECT_TRUE(gradients_->has_ready());
  EXPECT_EQ(gradients_->share(0).min().item<double>(), 2) << "it has one of an earlier pass";
  EXPECT_EQ(gradients_->share(1).abs().max().item<double>(), 0);
  gradients_->start_rest(/*had_backward=*/false);
  EXPECT_THAT(gradients_->missing().names, IsEmpty()) << "a rank without samples shows nothing";
}

}  // namespace
}  // namespace paceline::parallel
