#include "paceline/data/transforms/augment_policies.h"

#include "support/data/augment_names.h"

#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(AugmentPoliciesGolden, AreTorchvisions) {
  const std::map<std::string, AugmentPolicy> policies = {{"imagenet", AugmentPolicy::kImageNet},
                                                         {"cifar10", AugmentPolicy::kCifar10},
                                                         {"svhn", AugmentPolicy::kSvhn}};
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/policies.txt");
  std::map<std::string, std::size_t> lines;
  std::string policy;
  while (table >> policy) {
    const std::size_t number = lines[policy]++;
    const std::span<const PolicyPair> pairs = policy_pairs(policies.at(policy));
    ASSERT_LT(number, pairs.size());
    for (const PolicyOp& step : pairs[number]) {
      std::string op;
      double probability = 0;
      int level = 0;
      table >> op >> probability >> level;
      EXPECT_EQ(augment_name(step.op), op) << policy << " " << number;
      EXPECT_EQ(step.probability, probability) << policy << " " << number;
      EXPECT_EQ(step.level, level) << policy << " " << number;
    }
  }
  for (const auto& [name, kind] : policies) EXPECT_EQ(lines[name], policy_pairs(kind).size());
}

}  // namespace
}  // namespace paceline::data
