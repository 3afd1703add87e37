#include "paceline/algorithms/selective_backprop/selective_backprop.h"

#include "paceline/base/error.h"
#include "paceline/config/problems.h"
#include "paceline/nn/losses/jensen_shannon.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "unit/algorithms/image_step.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Its logits are the images' first pixels of five channels' worth, so that samples' losses follow
/// from their images.
class PixelLogits final : public FiveClasses {
 public:
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    EXPECT_FALSE(at::GradMode::is_enabled());
    seen = images;
    return images.flatten(1).slice(1, 0, 5);
  }
  at::Tensor seen;
};

class SelectiveBackpropTest : public ImageStep {
 protected:
  SelectiveBackpropTest() {
    network_ = std::make_shared<PixelLogits>();
    set_network(network_);
    state_.strategy = parallel::make_none({});
    state_.clock.lengths = {.total_steps = 10, .steps_per_epoch = 5, .samples_per_step = 8};
    state_.clock.step = 5;  // half of the run, the first step of an epoch
    set_samples(8);
  }

  /// The loss of sample i is the larger, the larger i: its own class has the logit -i.
  void set_samples(std::int64_t count) {
    set_images(count, 4, 4);
    at::Tensor images = at::zeros({count, 3, 4, 4});
    images.view({count, -1}).select(1, 0).copy_(at::arange(count, at::kFloat).neg());
    state_.batch.fields = {{"images", images}, {"labels", at::zeros({count}, at::kLong)}};
    state_.batch.indices.clear();
    for (std::int64_t i = 0; i < count; ++i) state_.batch.indices.push_back(100 + i);
  }
  std::vector<std::int64_t> kept(SelectiveBackprop& algorithm) {
    algorithm.apply(train::Event::kStepStart, state_, run_);
    const train::Batch batch = transformed(algorithm);
    EXPECT_EQ(batch.size, algorithm.num_kept(state_.batch.size, state_.clock));
    EXPECT_EQ(batch.fields.at("images").size(0), batch.size);
    const auto indices = train::sample_indices(batch);
    for (std::int64_t row = 0; row < batch.size; ++row) {
      const auto sample = static_cast<float>(indices[static_cast<std::size_t>(row)] - 100);
      EXPECT_EQ(batch.fields.at("images")[row].flatten()[0].item<float>(), -sample);
    }
    return indices;
  }

  std::shared_ptr<PixelLogits> network_;
};

TEST_F(SelectiveBackpropTest, KeepsDifferentSamplesThatAreHard) {
  SelectiveBackprop algorithm({});
  std::vector<int> counts(8, 0);
  for (int round = 0; round < 200; ++round) {
    state_.batch.first_position = 8 * round;
    const auto samples = kept(algorithm);
    EXPECT_EQ(samples.size(), 4u);
    EXPECT_EQ(std::set<std::int64_t>(samples.begin(), samples.end()).size(), 4u);
    for (const std::int64_t sample : samples) ++counts[static_cast<std::size_t>(sample - 100)];
  }
  EXPECT_LT(counts[0], 60) << "the easiest";
  EXPECT_GT(counts[7], 130) << "the hardest";
  EXPECT_THAT(algorithm.scalars(), ElementsAre(0.5));
}

TEST_F(SelectiveBackpropTest, LeavesOtherStepsAlone) {
  SelectiveBackprop algorithm({});
  for (const std::int64_t step : {0, 4, 6, 9}) {  // too early, interrupted, too late
    state_.clock.step = step;
    network_->seen.reset();
    EXPECT_EQ(kept(algorithm).size(), 8u) << step;
    EXPECT_FALSE(network_->seen.defined()) << step;
    EXPECT_THAT(algorithm.scalars(), ElementsAre(1.0));
  }
}

TEST_F(SelectiveBackpropTest, ChoosesBySmallerImagesIfAsked) {
  SelectiveBackprop algorithm({.scale_factor = 0.5});
  const train::Batch batch = transformed(algorithm);
  EXPECT_THAT(network_->seen.sizes().vec(), ElementsAre(8, 3, 2, 2));
  EXPECT_THAT(batch.fields.at("images").sizes().vec(), ElementsAre(4, 3, 4, 4));
}

TEST_F(SelectiveBackpropTest, GroupsChooseAlikeInEveryMicrobatchThatHoldsThem) {
  SelectiveBackprop algorithm({.group = 4});
  state_.batch.first_position = 16;
  const auto whole = kept(algorithm);
  EXPECT_EQ(whole.size(), 4u);
  for (const std::int64_t first : {0, 4}) {
    train::Batch part = state_.batch;
    part.size = 4;
    part.first_position += first;
    part.fields = part.fields.map([&](const at::Tensor& all) { return all.narrow(0, first, 4); });
    part.indices = {part.indices.begin() + first, part.indices.begin() + first + 4};
    algorithm.transform(part, state_, run_);
    const auto begin = whole.begin() + first / 2;
    EXPECT_EQ(train::sample_indices(part), std::vector<std::int64_t>(begin, begin + 2));
  }
  EXPECT_EQ(algorithm.num_kept(7, state_.clock), 2 + 1);
}

TEST_F(SelectiveBackpropTest, KeepsAtLeastOneSample) {
  set_samples(1);
  SelectiveBackprop algorithm({.keep = 0.1});
  EXPECT_THAT(kept(algorithm), ElementsAre(100));
  EXPECT_EQ(algorithm.num_kept(0, state_.clock), 0);
}

TEST_F(SelectiveBackpropTest, WaitsForNoDevice) {
  SelectiveBackprop algorithm({});
  expect_no_wait(algorithm);
}

TEST_F(SelectiveBackpropTest, RefusesLossesWithoutValuesPerSample) {
  SelectiveBackprop algorithm({});
  EXPECT_NO_THROW(algorithm.apply(train::Event::kInit, state_, run_));
  set_task(network_, nn::make(nn::JensenShannonConfig{}));
  EXPECT_THAT([&] { algorithm.apply(train::Event::kInit, state_, run_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("several views of one")));
}

TEST(SelectiveBackpropDraws, TheFirstPlaceIsDrawnByTheWeights) {
  const std::vector<double> weights = selection_weights(4, 0.5);  // 1, 3, 5, 7 of 16
  std::vector<int> sixteenths(4, 0);
  constexpr int kRounds = 16000;
  for (int i = 0; i < kRounds; ++i) {
    const GroupKey key{3, 5, i};
    ++sixteenths[static_cast<std::size_t>(
        draw_places(weights, 1, key.draws(Drawn::kSelection)).front())];
  }
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double wanted =
        kRounds * weights[i] / (weights[0] + weights[1] + weights[2] + weights[3]);
    sum += (sixteenths[i] - wanted) * (sixteenths[i] - wanted) / wanted;
  }
  EXPECT_LT(sum, 16.3) << "more once in a thousand";
}

TEST(SelectiveBackpropConfig, RefusesWhatSelectsNothing) {
  const auto problems_of = [](const SelectiveBackpropConfig& config) {
    config::Problems problems;
    config::Schema<SelectiveBackpropConfig>::validate(config, problems);
    return problems.message();
  };
  EXPECT_EQ(problems_of({}), "");
  EXPECT_THAT(problems_of({.start = 0.9, .end = 0.5}), HasSubstr("end"));
  EXPECT_THAT(problems_of({.interrupt = 1}), HasSubstr("interrupt"));
}

}  // namespace
}  // namespace paceline::algorithms
