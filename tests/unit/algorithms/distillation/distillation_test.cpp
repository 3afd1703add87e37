#include "paceline/algorithms/distillation/distillation.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/losses.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

const at::Tensor& student_logits() {
  static const at::Tensor logits =
      at::tensor({1.0, 2.0, 0.5, 0.0, -1.0, 3.0}, at::kDouble).view({2, 3});
  return logits;
}
const at::Tensor& teacher_logits() {
  static const at::Tensor logits =
      at::tensor({2.0, 0.0, 1.0, 1.0, 1.0, -2.0}, at::kDouble).view({2, 3});
  return logits;
}

/// The loss and its gradient, which torch.nn.functional.kl_div and cross_entropy gave in float64.
void expect_loss(DistilledTargets targets, double temperature, double loss,
                 const std::vector<double>& gradient) {
  const at::Tensor student = student_logits().clone().set_requires_grad(true);
  const at::Tensor got = distillation_loss(student, teacher_logits(), targets, temperature);
  got.backward();
  EXPECT_NEAR(got.item<double>(), loss, 1e-12);
  EXPECT_TRUE(at::allclose(student.grad().flatten(), at::tensor(gradient, at::kDouble), 0, 1e-12));
}

TEST(DistillationLoss, IsPytorchs) {
  expect_loss(DistilledTargets::kSoft, 1.0, 3.3545770148005403,
              {-0.4340170581526728, 0.5385011460413819, -0.10448408788870918, -0.4412429285823945,
               -0.47070772561484797, 0.9119506541972425});
  expect_loss(DistilledTargets::kSoft, 2.5, 4.762684618405005,
              {-0.42428026696671106, 0.5966099631204049, -0.172329696153694, -0.5854343066036355,
               -0.7505901617057755, 1.3360244683094114});
  expect_loss(DistilledTargets::kHard, 1.0, 4.530252687865374,
              {-0.768776102377851, 0.6285317192117624, 0.14024438316608848, -0.9533873774220261,
               0.017147825545520388, 0.9362395518765058});
}

/// One linear layer of the pixels.
class Pixels final : public nn::ImageNetwork {
 public:
  explicit Pixels(std::int64_t num_classes) {
    fc_ = register_module("fc", std::make_shared<nn::Linear>(2, num_classes, /*has_bias=*/false));
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    EXPECT_FALSE(is_training() && !fc_->weight.requires_grad()) << "a teacher that trains";
    return fc_->forward(images.flatten(1));
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {"fc"}; }

 private:
  std::shared_ptr<nn::Linear> fc_;
};

/// The mean over the pixels of a convolution by ones of `channels` to three.
class Stem final : public nn::ImageNetwork {
 public:
  explicit Stem(std::int64_t channels) {
    stem_ = register_module("stem", std::make_shared<torch::nn::Module>());
    stem_->register_parameter("weight", at::ones({3, channels, 1, 1}));
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    weight_seen = stem_->parameters()[0].flatten()[0].item<float>();
    return at::conv2d(images, stem_->parameters()[0]).mean({2, 3});
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> stem_names() const override { return {"stem"}; }
  inline static float weight_seen = 0;

 private:
  std::shared_ptr<torch::nn::Module> stem_;
};

class DistillationTest : public ::testing::Test {
 protected:
  DistillationTest() {
    state_.task = std::make_unique<train::ClassificationTask>(std::make_shared<Pixels>(3),
                                                              nn::make(nn::CrossEntropyConfig{}));
    state_.strategy = parallel::make_none({});
    const Pixels teacher(3);
    const at::NoGradGuard no_grad;
    for (const auto& named : nn::named_parameters(state_.task->network())) named.tensor.fill_(0.5);
    nn::named_parameters(teacher)[0].tensor.copy_(at::arange(6).view({3, 2}));
    checkpoint::export_weights(files_, config_.weights, checkpoint::named_tensors(teacher));
  }

  Distillation algorithm(std::int64_t num_classes = 3) const {
    return {config_, [=](const auto&) { return std::make_unique<Pixels>(num_classes); }};
  }

  base::TempDir dir_;
  base::RealFileSystem files_;
  DistillationConfig config_{
      {}, (dir_.path() / "teacher.safetensors").string(), DistilledTargets::kSoft, 0.25, 2.0};
  const std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal_{0};
  const train::RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  train::TrainState state_;
};

TEST_F(DistillationTest, SharesTheLossWithTheTeacher) {
  Distillation distillation = algorithm();
  distillation.apply(Event::kPrepared, state_, run_);
  state_.batch.size = 1;
  state_.batch.fields = {{"images", at::tensor({1.0f, 2.0f}).view({1, 1, 1, 2})},
                         {"labels", at::tensor({2}, at::kLong)}};
  state_.outputs = state_.task->forward(state_.batch, {});
  state_.loss = state_.task->loss(state_.outputs, state_.batch);
  const double own = state_.loss.item<double>();
  distillation.apply(Event::kAfterLoss, state_, run_);
  const at::Tensor taught = at::tensor({2.0f, 8.0f, 14.0f}).view({1, 3});
  const double of_teacher =
      distillation_loss(state_.outputs.at(train::kLogits), taught, DistilledTargets::kSoft, 2.0)
          .item<double>();
  EXPECT_NEAR(state_.loss.item<double>(), 0.75 * own + 0.25 * of_teacher, 1e-6);
  state_.loss.backward();
  EXPECT_TRUE(nn::named_parameters(state_.task->network())[0].tensor.grad().defined());
}

TEST_F(DistillationTest, TheTeachersStemMayHaveLearntOtherChannels) {
  const Stem colour(3);
  checkpoint::export_weights(files_, config_.weights, checkpoint::named_tensors(colour));
  Distillation distillation(config_, [](const auto&) { return std::make_unique<Stem>(1); });
  distillation.apply(Event::kPrepared, state_, run_);
  state_.batch.size = 1;
  state_.batch.fields = {{"images", at::ones({1, 1, 1, 2})}};
  state_.outputs = {{std::string(train::kLogits), at::zeros({1, 3})}};
  state_.loss = at::zeros({});
  distillation.apply(Event::kAfterLoss, state_, run_);
  EXPECT_EQ(Stem::weight_seen, 3) << "the sum over three channels";
}

TEST_F(DistillationTest, RefusesATeacherOfOtherClasses) {
  Distillation other = algorithm(4);
  EXPECT_THAT([&] { other.apply(Event::kPrepared, state_, run_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("4 classes apart")));
}

TEST_F(DistillationTest, RefusesWeightsWithoutTheTeachersClassifier) {
  const Pixels four(4);
  checkpoint::export_weights(files_, config_.weights, checkpoint::named_tensors(four));
  Distillation distillation = algorithm();
  EXPECT_THAT([&] { distillation.apply(Event::kPrepared, state_, run_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("teacher.num_classes")));
}

}  // namespace
}  // namespace paceline::algorithms
