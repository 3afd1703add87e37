#include "paceline/nn/module_tree.h"

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/conv.h"
#include "paceline/tensor/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

std::shared_ptr<torch::nn::Module> tree() {
  auto root = std::make_shared<torch::nn::Module>();
  root->register_parameter("token", at::ones({2}));
  const auto stem = root->register_module("stem", std::make_shared<torch::nn::Module>());
  stem->register_module("conv", std::make_shared<Conv2d>(3, 4, 3, Conv2d::Options{}));
  stem->register_module("norm", std::make_shared<BatchNorm2d>(4));
  return root;
}

std::vector<std::string> names(const std::vector<NamedTensor>& items) {
  std::vector<std::string> out;
  for (const NamedTensor& item : items) out.push_back(item.name);
  return out;
}

TEST(ModuleTree, StateDictHasPythonsOrder) {
  EXPECT_THAT(names(state_dict(*tree())),
              testing::ElementsAre("token", "stem.conv.weight", "stem.norm.weight",
                                   "stem.norm.bias", "stem.norm.running_mean",
                                   "stem.norm.running_var", "stem.norm.num_batches_tracked"));
  EXPECT_THAT(
      names(named_parameters(*tree())),
      testing::ElementsAre("token", "stem.conv.weight", "stem.norm.weight", "stem.norm.bias"));
}

TEST(ModuleTree, DtypeChangesFloatsAndKeepsCounters) {
  const auto root = tree();
  set_dtype(*root, at::kDouble);
  for (const NamedTensor& item : state_dict(*root)) {
    const bool counts = item.name == "stem.norm.num_batches_tracked";
    EXPECT_EQ(item.tensor.scalar_type(), counts ? at::kLong : at::kDouble) << item.name;
  }
}

TEST(ModuleTree, ChannelsLastReachesTheModulesOwnTensors) {
  const auto conv = std::make_shared<Conv2d>(3, 4, 3, Conv2d::Options{});
  set_channels_last(*conv);
  EXPECT_TRUE(conv->weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(conv->weight.requires_grad());
}

TEST(ModuleTree, DeferredParametersHaveTypeAndOrderButNoMemory) {
  const auto conv = std::make_shared<Conv2d>(3, 4, 3, Conv2d::Options{});
  defer_values(*conv);
  set_dtype(*conv, at::kDouble);
  set_channels_last(*conv);
  EXPECT_FALSE(tensor::has_memory(conv->weight));
  EXPECT_EQ(conv->weight.scalar_type(), at::kDouble);
  EXPECT_TRUE(conv->weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(conv->weight.requires_grad());
}

TEST(ModuleTree, OnItsDeviceAlreadyNothingMoves) {
  const auto conv = std::make_shared<Conv2d>(3, 4, 3, Conv2d::Options{});
  const void* memory = conv->weight.const_data_ptr();
  set_device(*conv, at::kCPU);
  EXPECT_EQ(conv->weight.const_data_ptr(), memory);
}

TEST(ModuleTree, TrainingModeReachesTheLeaves) {
  const auto norm = std::make_shared<BatchNorm2d>(2);
  auto root = std::make_shared<torch::nn::Module>();
  root->register_module("norm", norm);
  set_training(*root, false);
  EXPECT_FALSE(norm->is_training());
}

}  // namespace
}  // namespace paceline::nn
