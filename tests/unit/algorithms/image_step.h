#pragma once

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/losses.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/queued_device.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace paceline::algorithms {

/// Gives logits of five classes, by a layer that it names.
class FiveClasses : public nn::ImageNetwork {
 public:
  explicit FiveClasses(std::string head = "fc") : head_(std::move(head)) {
    register_module("fc", std::make_shared<nn::Linear>(12, 5));
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    return at::zeros({images.size(0), 5});
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {head_}; }

 private:
  std::string head_;
};

/// A step of three images of 2 x 2 pixels, the last without a class.
class ImageStep : public ::testing::Test {
 protected:
  ImageStep() {
    set_network(std::make_shared<FiveClasses>());
    state_.batch.size = 3;
    state_.batch.fields = {{"images", at::arange(3 * 3 * 4, at::kFloat).view({3, 3, 2, 2})},
                           {"labels", at::tensor({0, 4, -100}, at::kLong)}};
  }

  void set_network(std::shared_ptr<nn::Network> network) {
    set_task(std::move(network), nn::make(nn::CrossEntropyConfig{}));
  }
  void set_task(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss) {
    state_.task = std::make_unique<train::ClassificationTask>(std::move(network), std::move(loss));
  }
  /// Images that all differ, with a label each.
  void set_images(std::int64_t count, std::int64_t height, std::int64_t width) {
    state_.batch.size = count;
    state_.batch.fields = {
        {"images",
         at::arange(1, 1 + count * 3 * height * width, at::kFloat).view({count, 3, height, width})},
        {"labels", at::arange(count, at::kLong).remainder(5)}};
  }
  const at::Tensor& images() const { return state_.batch.fields.at("images"); }

  /// What an algorithm makes of the step's batch, or of samples [first, first + count) of it.
  train::Batch transformed(train::Algorithm& algorithm) {
    train::Batch batch = state_.batch;
    algorithm.transform(batch, state_, run_);
    return batch;
  }
  train::Batch transformed(train::Algorithm& algorithm, std::int64_t first, std::int64_t count) {
    train::Batch batch = state_.batch;
    batch.size = count;
    batch.first_position += first;
    batch.fields =
        batch.fields.map([&](const at::Tensor& all) { return all.narrow(0, first, count); });
    algorithm.transform(batch, state_, run_);
    return batch;
  }
  at::Tensor transformed_images(train::Algorithm& algorithm) {
    return transformed(algorithm).fields.at("images");
  }

  void expect_labels_and_loaders_memory_left_alone(train::Algorithm& algorithm) {
    const at::Tensor before = images().clone();
    const at::Tensor labels = state_.batch.fields.at("labels").clone();
    const train::Batch batch = transformed(algorithm);
    EXPECT_TRUE(images().equal(before));
    EXPECT_FALSE(batch.fields.at("images").equal(before));
    EXPECT_FALSE(batch.fields.at("images").is_alias_of(images()));
    EXPECT_TRUE(batch.fields.at("labels").is_same(state_.batch.fields.at("labels")));
    EXPECT_TRUE(batch.fields.at("labels").equal(labels));
  }

  /// With layouts and types as they are, and the same numbers in all of them.
  void expect_any_layout_and_type(train::Algorithm& algorithm) {
    const at::Tensor contiguous = images();
    const at::Tensor wanted = transformed_images(algorithm);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      const at::Tensor narrow = contiguous.to(dtype);
      state_.batch.fields.set("images", narrow.contiguous(at::MemoryFormat::ChannelsLast));
      const at::Tensor got = transformed_images(algorithm);
      EXPECT_EQ(got.scalar_type(), dtype);
      EXPECT_TRUE(got.is_contiguous(at::MemoryFormat::ChannelsLast)) << dtype;
      state_.batch.fields.set("images", narrow);
      const at::Tensor plain = transformed_images(algorithm);
      EXPECT_TRUE(plain.is_contiguous()) << dtype;
      EXPECT_TRUE(plain.equal(got)) << dtype;
      const double tolerance = dtype == at::kBFloat16 ? 1e-2 : 2e-3;  // of the narrow types
      EXPECT_TRUE(at::allclose(got.to(at::kFloat), wanted, tolerance)) << dtype;
    }
    state_.batch.fields.set("images", contiguous);
  }

  /// In two steps of two microbatches.
  void expect_no_wait(train::Algorithm& algorithm) {
    test::QueuedDevice device(0);
    const train::RunContext run{*communicator_, {}, 1, {}, no_signal_, device};
    state_.batch.fields = state_.batch.fields.map(
        [&](const at::Tensor& tensor) { return tensor.to(device.place()); });
    for (int step = 0; step < 2; ++step) {
      device.gpu().reset_counts();
      algorithm.apply(train::Event::kStepStart, state_, run);
      for (int microbatch = 0; microbatch < 2; ++microbatch) {
        train::Batch batch = state_.batch;
        algorithm.transform(batch, state_, run);
      }
      EXPECT_EQ(device.gpu().counts().waits, 0);
      EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
      device.synchronize();  // as the end of a step
    }
    algorithm.apply(train::Event::kStepStart, state_, run);  // which lets go of transfers
  }

  /// A rank without all samples of a batch makes of its own what one with all makes of them, by
  /// groups of two.
  void expect_groups_equal(train::Algorithm& algorithm) {
    set_images(8, 8, 6);
    state_.batch.first_position = 16;
    const at::Tensor whole = transformed_images(algorithm);
    for (const std::int64_t first : {0, 2, 4}) {
      const train::Batch part = transformed(algorithm, first, 4);
      EXPECT_TRUE(part.fields.at("images").equal(whole.narrow(0, first, 4))) << first;
    }
  }

  const std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal_{0};
  const train::RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  train::TrainState state_;
};

}  // namespace paceline::algorithms
