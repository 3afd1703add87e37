#include "paceline/models/resnet/named_resnets.h"

#include "paceline/models/resnet/resnet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

config::Registry<nn::Network> resnets() {
  config::Registry<nn::Network> registry("model");
  add_resnets(registry);
  return registry;
}

ResNetConfig defaults_of(const std::string& name) {
  const auto registry = resnets();
  const config::ComponentEntry* entry = registry.find(name);
  PACELINE_CHECK(entry != nullptr, "no model {}", name);
  return *std::static_pointer_cast<const ResNetConfig>(entry->make());
}

TEST(NamedResNets, AreThoseOfTorchvisionTimmAndCifar) {
  EXPECT_THAT(resnets().names(),
              testing::UnorderedElementsAre(
                  "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d",
                  "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2",
                  "resnet18d", "resnet26d", "resnet34d", "resnet50d", "resnet101d", "resnet152d",
                  "resnet26", "resnet14t", "resnet20", "resnet32", "resnet44", "resnet56",
                  "resnet110", "resnet9", "resnet"));
}

TEST(NamedResNets, HaveTheirOwnDefaults) {
  EXPECT_EQ(defaults_of("resnet152").layers, (std::vector<std::int64_t>{3, 8, 36, 3}));
  EXPECT_EQ(defaults_of("resnext101_32x8d").groups, 32);
  EXPECT_EQ(defaults_of("resnext101_32x8d").width_per_group, 8);
  EXPECT_EQ(defaults_of("wide_resnet50_2").width_per_group, 128);
  EXPECT_TRUE(defaults_of("resnet50d").zero_init_residual);
  EXPECT_FALSE(defaults_of("resnet50").zero_init_residual);
  EXPECT_EQ(defaults_of("resnet110").layers, (std::vector<std::int64_t>{18, 18, 18}));
}

}  // namespace
}  // namespace paceline::models
