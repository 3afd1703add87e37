#include "paceline/train/tasks/multi_label.h"

#include "paceline/base/error.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/losses/binary_cross_entropy.h"
#include "paceline/nn/losses/focal.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Its logits are the pixels.
class PixelLogits final : public nn::ImageNetwork {
 public:
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    return images.flatten(1);
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
};

class PixelParts final : public TaskParts {
 public:
  explicit PixelParts(std::shared_ptr<nn::Loss> loss) : loss_(std::move(loss)) {}
  using TaskParts::make_network;
  std::shared_ptr<nn::Network> make_network(std::optional<int>) override {
    return std::make_shared<PixelLogits>();
  }
  std::shared_ptr<nn::Loss> make_loss() override { return loss_; }

 private:
  std::shared_ptr<nn::Loss> loss_;
};

std::unique_ptr<Task> make_task(std::shared_ptr<nn::Loss> loss, MultiLabelConfig config = {}) {
  PixelParts parts(std::move(loss));
  return make(config, parts);
}

Batch batch_of_sets() {
  Batch batch;
  batch.size = 2;
  batch.fields.set(kImages, at::tensor({2.0, -1.0, 0.5, 0.1, -3.0, 0.2}).view({2, 1, 1, 3}));
  batch.fields.set(kTargets, at::tensor({1.0, 0.0, 0.0, 0.6, 0.4, 1.0}).view({2, 3}));
  return batch;
}

TEST(MultiLabelTask, CountsWhatIsToldAndWhatIsWanted) {
  const auto loss = std::make_shared<nn::BinaryCrossEntropy>(nn::BinaryCrossEntropyConfig{});
  const auto task = make_task(loss);
  const Batch batch = batch_of_sets();
  const tensor::Fields outputs = task->forward(batch, {});
  EXPECT_TRUE(
      task->loss(outputs, batch).equal(loss->sum(outputs.at(kLogits), batch.fields.at(kTargets))));
  EXPECT_TRUE(task->sums(outputs, batch).equal(at::tensor({6.0, 7.0, 1.0}, at::kDouble)));
  EXPECT_EQ(task->num_sums(), 3);
  const auto strict = make_task(loss, {.threshold = 0.6});
  EXPECT_TRUE(strict->sums(outputs, batch).equal(at::tensor({2.0, 5.0, 0.0}, at::kDouble)));
}

TEST(MultiLabelTask, PredictsEachClassForItself) {
  const auto task =
      make_task(std::make_shared<nn::BinaryCrossEntropy>(nn::BinaryCrossEntropyConfig{}));
  const at::Tensor probabilities = task->predict(batch_of_sets(), {}).at("probabilities");
  EXPECT_NEAR(probabilities[0][0].item<double>(), 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(probabilities[1][1].item<double>(), 1 / (1 + std::exp(3.0)), 1e-6);
}

TEST(MultiLabelTask, RefusesALossOfOneClassASample) {
  EXPECT_THAT([] { make_task(std::make_shared<nn::CrossEntropy>(nn::CrossEntropyConfig{})); },
              ThrowsMessage<base::ConfigError>(HasSubstr("loss=binary_cross_entropy")));
  EXPECT_THAT([] { make_task(std::make_shared<nn::Focal>(nn::FocalConfig{})); },
              ThrowsMessage<base::ConfigError>(HasSubstr("over: sigmoid")));
  make_task(std::make_shared<nn::Focal>(nn::FocalConfig{.over = nn::FocalOver::kSigmoid}));
}

TEST(MultiLabelTask, RefusesSamplesOfOneLabelAndTargetsThatAreNoFloats) {
  const auto task =
      make_task(std::make_shared<nn::BinaryCrossEntropy>(nn::BinaryCrossEntropyConfig{}));
  SampleFacts facts;
  facts.sizes = {{std::string(kImages), {3, 16, 16}}, {std::string(kLabels), {}}};
  facts.num_classes = 0;
  task->check_samples(facts);  // there is nothing to learn from, but something to predict
  facts.num_classes = 3;
  EXPECT_THAT([&] { task->check_samples(facts); },
              ThrowsMessage<base::ConfigError>(HasSubstr("lists of labels")));
  Batch batch;
  batch.fields.set(kImages, at::zeros({2, 1, 1, 3}));
  EXPECT_THAT([&] { task->forward(batch, {}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("lists of labels")));
  batch.fields.set(kTargets, at::zeros({2, 3}, at::kByte));
  EXPECT_THAT([&] { task->forward(batch, {}); },
              ThrowsMessage<base::DataError>(HasSubstr("expects float32 or float16")));
}

TEST(MultiLabelTask, NamesTheMetricThatItDoesNotKnow) {
  config::Problems problems;
  config::Schema<MultiLabelConfig>::validate({.metrics = {"f1_macro", "top1"}}, problems);
  EXPECT_THAT([&] { problems.throw_if_any(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("'top1' is no metric of multi_label")));
}

}  // namespace
}  // namespace paceline::train
