#include "paceline/algorithms/cutmix/cutmix.h"

#include "paceline/algorithms/mixup/mixup.h"
#include "paceline/base/error.h"
#include "unit/algorithms/image_step.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

constexpr nn::ImageSize kCutmixImage{8, 6};

SampleGroup cutmix_group(std::int64_t position, std::int64_t step = 5) {
  return {0, 4, {3, step, position}};
}

// Numbers of a Philox of its own, in Python.
TEST(CutmixDraws, StayWhatTheyAre) {
  const Mixture first = draw_cut({}, cutmix_group(0), kCutmixImage);
  EXPECT_EQ(first.box, (Box{3, 3, 7, 5}));
  EXPECT_THAT(first.share, DoubleEq(8.0 / 48));
  EXPECT_THAT(first.partners, ElementsAre(1, 3, 0, 2));
  const Mixture second = draw_cut({}, cutmix_group(16), kCutmixImage);
  EXPECT_EQ(second.box, (Box{2, 3, 4, 5}));
  EXPECT_THAT(second.partners, ElementsAre(3, 2, 0, 1));
}

TEST(CutmixDraws, AreOthersThanMixups) {
  std::set<std::vector<std::int64_t>> permutations;
  const SampleGroup group{0, 32, {3, 5, 0}};
  permutations.insert(draw_cut({}, group, kCutmixImage).partners);
  permutations.insert(draw_mixture({}, group).partners);
  EXPECT_EQ(permutations.size(), 2U);
}

TEST(CutmixDraws, ABoxTakesWhatTheShareThatStaysLeaves) {
  for (const double lambda : {0.0, 0.25, 0.5, 0.9, 1.0}) {
    const nn::ImageSize box = box_size(lambda, {1000, 500});
    EXPECT_NEAR(static_cast<double>(box.height * box.width), (1 - lambda) * 5e5, 1500) << lambda;
  }
}

TEST(CutmixDraws, HaveTheShareOfTheBoxAfterItWasCutOff) {
  int num_cut_off = 0;
  for (std::int64_t step = 0; step < 200; ++step) {
    const Mixture mixture = draw_cut({}, cutmix_group(0, step), kCutmixImage);
    const Box& box = mixture.box;
    ASSERT_TRUE(box.top >= 0 && box.left >= 0 && box.bottom <= 8 && box.right <= 6);
    EXPECT_THAT(mixture.share, DoubleEq(static_cast<double>(box.area()) / 48));
    num_cut_off += box.top == 0 || box.left == 0 || box.bottom == 8 || box.right == 6;
  }
  EXPECT_GT(num_cut_off, 50);
}

TEST(CutmixDraws, OfAlphaZeroPasteNothing) {
  for (std::int64_t step = 0; step < 20; ++step)
    EXPECT_EQ(draw_cut({.alpha = 0}, cutmix_group(0, step), kCutmixImage).share, 0);
}

TEST(CutmixDraws, ReachBeyondBordersWhereThatIsAskedFor) {
  const auto mean_share = [](bool uniform_sampling) {
    double sum = 0;
    for (std::int64_t step = 0; step < 2'000; ++step)
      sum += draw_cut({.uniform_sampling = uniform_sampling}, cutmix_group(0, step), kCutmixImage)
                 .share;
    return sum / 2'000;
  };
  EXPECT_LT(mean_share(true), 0.8 * mean_share(false)) << "more of the boxes is cut off";
}

class CutmixTest : public ImageStep {
 protected:
  CutmixTest() { set_images(4, 8, 6); }

  std::string bring_together(const MixupConfig& mixup, const CutmixConfig& cutmix) {
    both_.clear();
    both_.push_back(make(mixup));
    both_.push_back(make(cutmix));
    std::string note;
    for (const auto& algorithm : both_) note += algorithm->meet(both_);
    for (const auto& algorithm : both_) {
      algorithm->apply(Event::kPrepared, state_, run_);
      algorithm->apply(Event::kStepStart, state_, run_);
    }
    return note;
  }
  /// By mixup, then by cutmix.
  train::Batch mixed() {
    train::Batch batch = state_.batch;
    for (const auto& algorithm : both_) algorithm->transform(batch, state_, run_);
    return batch;
  }
  train::Batch mixed_by_one(train::Algorithm& algorithm) {
    algorithm.apply(Event::kPrepared, state_, run_);
    return transformed(algorithm);
  }

  std::vector<std::unique_ptr<train::Algorithm>> both_;
};

void expect_equal_fields(const train::Batch& got, const train::Batch& wanted) {
  ASSERT_EQ(got.fields.size(), wanted.fields.size());
  for (const auto& field : wanted.fields)
    EXPECT_TRUE(got.fields.at(field.name).equal(field.tensor)) << field.name;
}

TEST_F(CutmixTest, PastesTheBoxAndMixesTargetsByItsShare) {
  Cutmix cutmix({});
  const train::Batch batch = mixed_by_one(cutmix);
  // Of seed 1 and step 0: a box of 4 x 4 of 8 x 6 pixels, and a permutation.
  const Box box{4, 1, 8, 5};
  const at::Tensor partners = at::tensor({2, 3, 0, 1}, at::kLong);
  at::Tensor wanted = images().clone();
  inside(wanted, box).copy_(inside(images(), box).index_select(0, partners));
  EXPECT_TRUE(batch.fields.at("images").equal(wanted));
  const at::Tensor own = at::eye(5).narrow(0, 0, 4);
  const at::Tensor targets = own * (1 - 16.0 / 48) + own.index_select(0, partners) * (16.0 / 48);
  EXPECT_TRUE(at::allclose(batch.fields.at("targets"), targets));
  EXPECT_THAT(cutmix.scalars(), ElementsAre(DoubleEq(1 - 16.0 / 48)));
}

TEST_F(CutmixTest, KnowsThePartnersOfTimmAndTorchvision) {
  for (const Partner partner : {Partner::kReversed, Partner::kRolled}) {
    Cutmix cutmix({.partner = partner});
    const at::Tensor pasted = mixed_by_one(cutmix).fields.at("images");
    const at::Tensor others =
        partner == Partner::kReversed ? images().flip({0}) : images().roll({1}, {0});
    const Box box{4, 1, 8, 5};
    EXPECT_TRUE(inside(pasted, box).equal(inside(others, box)));
  }
}

TEST_F(CutmixTest, IsFollowedByNothingElse) {
  EXPECT_GT(Cutmix({}).traits().order, Mixup({}).traits().order);
}

TEST_F(CutmixTest, TakesTurnsWithMixup) {
  EXPECT_THAT(bring_together({.alpha = 1}, {}), HasSubstr("with_mixup=switch): one of them"));
  Mixup mixup({.alpha = 1});
  Cutmix cutmix({});
  int num_cut = 0;
  for (; state_.clock.step < 8; ++state_.clock.step) {
    for (const auto& algorithm : both_) algorithm->apply(Event::kStepStart, state_, run_);
    const GroupKey key{run_.seed, state_.clock.step, 0};
    const bool is_cut = has_turn(Turns::kSwitch, TurnOf::kSecond, key);
    expect_equal_fields(mixed(), is_cut ? mixed_by_one(cutmix) : mixed_by_one(mixup));
    EXPECT_THAT(both_.at(is_cut ? 0 : 1)->scalars(), ElementsAre(1.0)) << "keeps all";
    EXPECT_LT(both_.at(is_cut ? 1 : 0)->scalars().front(), 1);
    num_cut += is_cut;
  }
  EXPECT_EQ(num_cut, 4);
}

TEST_F(CutmixTest, TakesTurnsByGroupsToo) {
  bring_together({.alpha = 1, .group = 2}, {.group = 2});
  set_images(8, 8, 6);
  const train::Batch batch = mixed();
  Mixup mixup({.alpha = 1, .group = 2});
  Cutmix cutmix({.group = 2});
  const train::Batch by_mixup = mixed_by_one(mixup);
  const train::Batch by_cutmix = mixed_by_one(cutmix);
  std::set<bool> turns;
  for (const std::int64_t first : {0, 2, 4, 6}) {
    const bool is_cut = has_turn(Turns::kSwitch, TurnOf::kSecond, {run_.seed, 0, first});
    turns.insert(is_cut);
    for (const char* name : {"images", "targets"}) {
      const train::Batch& wanted = is_cut ? by_cutmix : by_mixup;
      EXPECT_TRUE(batch.fields.at(name)
                      .narrow(0, first, 2)
                      .equal(wanted.fields.at(name).narrow(0, first, 2)))
          << name << ' ' << first;
    }
  }
  EXPECT_EQ(turns.size(), 2U);
}

TEST_F(CutmixTest, AlternatesWithMixupByTheStep) {
  EXPECT_THAT(bring_together({.alpha = 1}, {.with_mixup = Turns::kAlternate}),
              HasSubstr("with_mixup=alternate): mixup mixes in even steps"));
  Mixup mixup({.alpha = 1});
  Cutmix cutmix({});
  for (; state_.clock.step < 6; ++state_.clock.step) {
    const bool is_cut = state_.clock.step % 2 == 1;
    expect_equal_fields(mixed(), is_cut ? mixed_by_one(cutmix) : mixed_by_one(mixup));
  }
}

// The targets are those of all pixels: also of what mixup mixed into a pasted box.
TEST_F(CutmixTest, CutsWhatMixupMixedWhereItIsToldTo) {
  EXPECT_THAT(bring_together({.alpha = 1}, {.with_mixup = Turns::kSequential}),
              HasSubstr("with_mixup=sequential): mixup mixes each microbatch, then cutmix"));
  Mixup mixup({.alpha = 1});
  Cutmix cutmix({});
  const train::Batch wanted = [&] {
    train::Batch batch = mixed_by_one(mixup);
    cutmix.apply(Event::kPrepared, state_, run_);
    cutmix.transform(batch, state_, run_);
    return batch;
  }();
  expect_equal_fields(mixed(), wanted);
  EXPECT_TRUE(at::allclose(wanted.fields.at("targets").sum(1), at::ones({4})));
}

TEST_F(CutmixTest, ReplacesTheLossInItsTurnsAlone) {
  bring_together({.alpha = 1}, {.interpolate_loss = true});
  state_.outputs = {{"logits", at::arange(20, at::kFloat).sin().view({4, 5})}};
  for (; state_.clock.step < 4; ++state_.clock.step) {
    for (const auto& algorithm : both_) algorithm->apply(Event::kStepStart, state_, run_);
    const bool is_cut =
        has_turn(Turns::kSwitch, TurnOf::kSecond, {run_.seed, state_.clock.step, 0});
    train::Batch plain = state_.batch;
    state_.batch = mixed();
    EXPECT_EQ(state_.batch.fields.contains("targets"), !is_cut) << "of mixup";
    state_.loss = state_.task->loss(state_.outputs, state_.batch);
    const at::Tensor before = state_.loss;
    both_.back()->apply(Event::kAfterLoss, state_, run_);
    EXPECT_EQ(state_.loss.equal(before), !is_cut);
    state_.batch = plain;
  }
}

TEST_F(CutmixTest, AloneItMixesAlways) {
  std::vector<std::unique_ptr<train::Algorithm>> alone;
  alone.push_back(make(CutmixConfig{}));
  EXPECT_EQ(alone.front()->meet(alone), "");
  alone.front()->apply(Event::kPrepared, state_, run_);
  for (; state_.clock.step < 4; ++state_.clock.step)
    EXPECT_FALSE(transformed_images(*alone.front()).equal(images()));
}

TEST_F(CutmixTest, RefusesWhatMakesNoSenseWithMixup) {
  EXPECT_THAT([&] { bring_together({.group = 2}, {.group = 4}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.cutmix.group")));
  EXPECT_THAT([&] { bring_together({.group = 2}, {}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.cutmix.group")));
  bring_together({.group = 2}, {.with_mixup = Turns::kAlternate, .group = 4});
  EXPECT_THAT(
      [&] { bring_together({.interpolate_loss = true}, {.with_mixup = Turns::kSequential}); },
      ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.mixup.interpolate_loss")));
  bring_together({.interpolate_loss = true}, {});
}

}  // namespace
}  // namespace paceline::algorithms
