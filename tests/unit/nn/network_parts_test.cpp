#include "paceline/nn/network_parts.h"

#include "paceline/base/error.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/linear.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ThreeParts : public ImageNetwork {
 public:
  ThreeParts() {
    token_ = register_parameter("token", at::zeros({2}));
    bn1_ = register_module("bn1", std::make_shared<BatchNorm2d>(2));
    const auto layer = register_module("layer1", std::make_shared<torch::nn::Module>());
    bn2_ = layer->register_module("bn", std::make_shared<BatchNorm2d>(2));
    fc_ = register_module("fc", std::make_shared<Linear>(2, 3));
  }
  at::Tensor forward_images(const at::Tensor& images, const ForwardContext&) override {
    return images;
  }
  void initialize_parameter(const NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {"fc"}; }
  std::vector<std::string> stem_names() const override { return {"token", "bn1"}; }

  std::vector<std::string> trained() const {
    std::vector<std::string> names;
    for (const NamedTensor& named : nn::named_parameters(*this)) {
      if (named.tensor.requires_grad()) names.push_back(named.name);
    }
    return names;
  }
  void freeze_all(const std::vector<std::string>& patterns) {
    std::vector<NetworkPart> parts;
    for (const std::string& pattern : patterns) parts.emplace_back(*this, pattern);
    freeze(*this, parts);
  }

  at::Tensor token_;
  std::shared_ptr<BatchNorm2d> bn1_;
  std::shared_ptr<BatchNorm2d> bn2_;
  std::shared_ptr<Linear> fc_;
};

TEST(NetworkParts, AreNamedByModulesParametersAndPatterns) {
  const ThreeParts network;
  const auto holds = [&](const char* pattern, const char* name) {
    return NetworkPart(network, pattern).holds(name);
  };
  EXPECT_TRUE(holds("layer1", "layer1.bn.weight"));
  EXPECT_FALSE(holds("layer1", "layer10.bn.weight"));
  EXPECT_TRUE(holds("layer[12]", "layer1.bn.weight"));
  EXPECT_TRUE(holds("*.bias", "layer1.bn.bias"));
  EXPECT_FALSE(holds("*.bias", "layer1.bn.weight"));
  EXPECT_TRUE(holds("fc.weight", "fc.weight"));
  EXPECT_TRUE(holds("head", "fc.weight"));
  EXPECT_FALSE(holds("head", "bn1.weight"));
  EXPECT_TRUE(holds("stem", "token"));
  EXPECT_TRUE(holds("stem", "bn1.bias"));
}

TEST(NetworkParts, MayReachUpToAPart) {
  ThreeParts network;
  network.freeze_all({"..layer1"});
  EXPECT_THAT(network.trained(), ElementsAre("fc.weight", "fc.bias"));
  EXPECT_THAT([&] { NetworkPart(network, "..layer2"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("did you mean layer1?")));
}

TEST(NetworkParts, AnUnknownOneNamesWhatThereIs) {
  const ThreeParts network;
  EXPECT_THAT([&] { NetworkPart(network, "layer2"); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("'layer2'"), HasSubstr("did you mean layer1?"),
                        HasSubstr("stem, head, token, bn1, layer1, fc"))));
}

TEST(NetworkParts, FrozenOnesAreNotTrainedAndKeepTheirStatistics) {
  ThreeParts network;
  network.freeze_all({"stem", "layer1.bn.weight"});
  EXPECT_THAT(network.trained(), ElementsAre("layer1.bn.bias", "fc.weight", "fc.bias"));
  EXPECT_FALSE(network.bn1_->uses_batch_statistics());
  EXPECT_TRUE(network.bn2_->uses_batch_statistics());  // its bias is trained
}

TEST(NetworkParts, SomethingMustBeLeft) {
  ThreeParts network;
  EXPECT_THAT([&] { network.freeze_all({"*"}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("left to train")));
}

TEST(NumOutputs, AreThoseOfTheLayerThatTheNetworkNames) {
  EXPECT_EQ(num_outputs(ThreeParts()), 3);
  const ThreeParts factorized;
  factorized.fc_->factorize(1);
  EXPECT_EQ(num_outputs(factorized), 3) << "of the second factor";
  class Nameless final : public ThreeParts {
    std::vector<std::string> head_names() const override { return {}; }
  };
  EXPECT_EQ(num_outputs(Nameless()), std::nullopt);
}

}  // namespace
}  // namespace paceline::nn
