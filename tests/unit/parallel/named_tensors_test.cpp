#include "paceline/parallel/named_tensors.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/tensor/torch.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> found;
  for (const NamedTensor& named : tensors) found.push_back(named.name);
  return found;
}

struct Child : torch::nn::Module {
  explicit Child(const at::Tensor& shared) {
    register_parameter("shared", shared);
    register_parameter("frozen", at::zeros({1}), /*requires_grad=*/false);
    register_buffer("count", at::zeros({}, at::kLong));
  }
};

struct Parent : torch::nn::Module {
  Parent() {
    register_module("child", std::make_shared<Child>(weight));
    register_parameter("weight", weight);
    register_buffer("mean", at::zeros({1}));
  }
  at::Tensor weight = at::zeros({2}).requires_grad_();
};

TEST(NamedTensors, TiedParametersComeOnce) {
  const Parent module;
  EXPECT_THAT(names(trainable_parameters(module)), ElementsAre("weight"));
  EXPECT_THAT(names(frozen_parameters(module)), ElementsAre("child.frozen"));
  EXPECT_THAT(names(all_parameters(module)), ElementsAre("weight", "child.frozen"));
  EXPECT_THAT(names(all_parameters(Child(at::zeros({1})))), ElementsAre("shared", "frozen"));
  EXPECT_THAT(names(module_buffers(module)), ElementsAre("mean", "child.count"));
}

TEST(NamedTensors, AllButTheFrozenRequireGradients) {
  const std::vector<NamedTensor> parameters{{"a", at::zeros({1})}, {"b", at::zeros({1})}};
  freeze_only(parameters, {"a"});
  EXPECT_FALSE(parameters[0].tensor.requires_grad());
  EXPECT_TRUE(parameters[1].tensor.requires_grad());
  freeze_only(parameters, {});
  EXPECT_TRUE(parameters[0].tensor.requires_grad());
}

TEST(NamedTensors, ARanksOwnBuffersAreItsPartOfAllRanks) {
  const at::Tensor map =
      at::arange(24).view({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  const std::vector<NamedTensor> buffers{{"count", at::scalar_tensor(7, at::kLong), false},
                                         {"map", map, false}};
  const auto ranks = comm::make_fake_communicator(2, 3);
  std::vector<tensor::StateShard> shards;
  append_own_buffers(shards, buffers, *ranks);
  ASSERT_EQ(shards.size(), 2U);
  EXPECT_EQ(shards[0].name, "rank_buffers/count");
  EXPECT_THAT(shards[0].shape, ElementsAre(3));
  EXPECT_EQ(shards[1].begin, 48);
  EXPECT_EQ(shards[1].end, 72);
  EXPECT_THAT(shards[1].order, ElementsAre(0, 1, 3, 4, 2)) << "ranks, then the order in memory";
  EXPECT_EQ(shards[1].data.data_ptr(), map.data_ptr()) << "a view, to be loaded into";
  EXPECT_EQ(shards[1].data[1].item<std::int64_t>(), 12) << "the second channel of the first pixel";
}

TEST(NamedTensors, ListsAreCutAfterTen) {
  EXPECT_EQ(list_names(std::vector<std::string>{"a", "b"}), "'a', 'b'");
  EXPECT_THAT(list_names(std::vector<std::string>(13, "x")), testing::EndsWith("'x' and 3 more"));
}

}  // namespace
}  // namespace paceline::parallel
