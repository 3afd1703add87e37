// Losses and gradients against torch, timm and torchvision; see make_losses.py.

#include "paceline/nn/losses.h"

#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/registry.h"
#include "paceline/nn/losses/binary_cross_entropy.h"
#include "paceline/nn/losses/distances.h"
#include "paceline/nn/losses/focal.h"
#include "paceline/nn/losses/jensen_shannon.h"
#include "paceline/nn/losses/poly.h"
#include "support/parity.h"
#include "support/small_net.h"

#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::nn {
namespace {

using nlohmann::json;
using paceline::test::wave;

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kClasses = 5;

std::unique_ptr<Loss> loss_of(const json& golden) {
  config::Registry<Loss> registry("loss");
  registry.add<CrossEntropyConfig>();
  registry.add<BinaryCrossEntropyConfig>();
  registry.add<FocalConfig>();
  registry.add<PolyConfig>();
  registry.add<JensenShannonConfig>();
  registry.add<MseConfig>();
  registry.add<L1Config>();
  registry.add<HuberConfig>();
  const config::ComponentEntry* const entry = registry.find(golden.at("loss").get<std::string>());
  const config::Node options = config::parse_yaml(golden.at("options").dump(), "losses.json");
  return registry.build(config::bind_component(*entry, options, {}));
}

at::Tensor targets_of(const std::string& kind, at::ScalarType dtype) {
  if (kind == "probabilities") {
    const at::Tensor values = wave({kRows, kClasses}, 40) + 0.6;
    return (values / values.sum(1, true)).to(dtype);
  }
  if (kind == "values") return (3 * wave({kRows, kClasses}, 7)).to(dtype);
  at::Tensor indices = at::arange(kRows) * 3 % kClasses;
  if (kind == "views") indices = indices.div(3, "floor");
  if (kind == "masked") indices.index_fill_(0, at::tensor({1, 4}, at::kLong), -100);
  return indices;
}

void expect_loss_values(const std::string& component, const char* what, const at::Tensor& got,
                        const json& wanted, double tolerance) {
  const at::Tensor flat = got.detach().reshape({-1}).to(at::kDouble);
  ASSERT_EQ(flat.numel(), std::ssize(wanted)) << what;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    SCOPED_TRACE(i);
    paceline::test::expect_reference(component, what, flat[i].item<double>(),
                                     wanted[static_cast<std::size_t>(i)].get<double>(), tolerance);
  }
}

TEST(GoldenLosses, GiveEachSamplesLossAndGradient) {
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/losses.json"));
  ASSERT_FALSE(golden.at("cases").empty());
  for (const json& each : golden.at("cases")) {
    SCOPED_TRACE(each.at("loss").dump() + each.at("options").dump() + each.at("targets").dump());
    const auto loss = loss_of(each);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const double tolerance = dtype == at::kFloat ? 1e-6 : 1e-10;
      const char* const type = dtype == at::kFloat ? "float32" : "float64";
      const json& wanted = each.at(type);
      const std::string component = each.at("loss").get<std::string>() + ", " + type;
      const at::Tensor outputs = (4 * wave({kRows, kClasses}, 20)).to(dtype).requires_grad_();
      const at::Tensor targets = targets_of(each.at("targets"), dtype);
      const at::Tensor per_sample = loss->per_sample(outputs, targets);
      EXPECT_EQ(per_sample.scalar_type(), dtype);
      expect_loss_values(component, "loss", per_sample, wanted.at("losses"), tolerance);
      const at::Tensor sum = loss->sum(outputs, targets);
      EXPECT_NEAR(sum.item<double>(), per_sample.sum().item<double>(), 20 * tolerance);
      sum.backward();
      expect_loss_values(component, "gradient", outputs.grad(), wanted.at("grad"), tolerance);
    }
  }
}

}  // namespace
}  // namespace paceline::nn
