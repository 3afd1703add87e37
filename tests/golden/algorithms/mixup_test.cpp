#include "paceline/algorithms/mixup/mixup.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/losses.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/parity.h"
#include "support/small_net.h"

#include <atomic>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What Composer's MixUp makes of images, targets and losses: make_mixup.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;

json mixup_golden(const char* list) {
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/mixup.json"));
  EXPECT_FALSE(golden.at(list).empty());
  return golden.at(list);
}

void expect_mixed(const at::Tensor& got, const json& wanted, double tolerance, const char* what) {
  const at::Tensor flat = got.detach().reshape({-1}).to(at::kDouble);
  ASSERT_EQ(flat.numel(), std::ssize(wanted)) << what;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    paceline::test::expect_reference("mixup", what, flat[i].item<double>(),
                                     wanted[static_cast<std::size_t>(i)].get<double>(), tolerance);
  }
}

at::Tensor golden_targets(const json& options) {
  if (options.at("targets") == "indices") return at::arange(4) * 3 % 5;
  const at::Tensor values = wave({4, 5}, 40) + 0.6;
  return (values / values.sum(1, true)).to(at::kFloat);
}

/// A network whose output is scripted: what is tested lies before and after it.
class ScriptedLogits final : public nn::Network {
 public:
  at::Tensor forward(const tensor::Fields& /*inputs*/, const nn::ForwardContext&) override {
    return logits;
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const nn::SampleSizes&) const override { return 0; }

  at::Tensor logits = (4.0 * wave({4, 5}, 20)).to(at::kFloat).requires_grad_();
};

TEST(GoldenMixup, FoldsSharesAsComposerDoes) {
  for (const json& each : mixup_golden("folds"))
    EXPECT_EQ(folded(each.at("drawn")), each.at("mixing").get<double>());
}

TEST(GoldenMixup, GivesComposersImagesTargetsLossesAndGradients) {
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  for (const json& each : mixup_golden("cases")) {
    const json& options = each.at("options");
    SCOPED_TRACE(options.dump());
    const bool is_narrow = options.at("images") == "bfloat16";
    const bool interpolates = options.at("interpolate_loss");
    const auto network = std::make_shared<ScriptedLogits>();
    train::TrainState state;
    state.task =
        std::make_unique<train::ClassificationTask>(network, nn::make(nn::CrossEntropyConfig{}));
    state.batch.size = 4;
    state.batch.fields = {
        {"images", wave({4, 3, 3, 2}, 3).to(at::kFloat).to(is_narrow ? at::kBFloat16 : at::kFloat)},
        {"labels", at::arange(4) * 3 % 5}};
    const at::Tensor targets = golden_targets(options);
    if (options.at("targets") == "probabilities") state.batch.fields.set("targets", targets);
    MixedBy by{{{options.at("mixing"), options.at("permutation")}}, {}};
    by.partners = at::empty({4}, at::kLong);
    write_partners(by.mixtures, by.partners);

    mix_images(state.batch, by);
    state.outputs = state.task->forward(state.batch, {});
    if (!interpolates) mix_targets(state.batch, 5, by);
    state.loss = state.task->loss(state.outputs, state.batch);
    if (interpolates) mix_losses(state, by);
    const at::Tensor mean = state.loss / 4;
    mean.backward();

    EXPECT_EQ(state.batch.fields.at("images").scalar_type(),
              is_narrow ? at::kBFloat16 : at::kFloat);
    expect_mixed(state.batch.fields.at("images"), each.at("mixed"), 1e-8, "image");
    const at::Tensor* const mixed = state.batch.fields.find("targets");
    expect_mixed(mixed ? *mixed : state.batch.fields.at("labels"), each.at("target"), 1e-8,
                 "target");
    expect_mixed(targets.index_select(0, by.partners), each.at("permuted_target"), 1e-8, "partner");
    paceline::test::expect_reference("mixup", "loss", mean.item<double>(),
                                     each.at("loss").get<double>(), 1e-6);
    expect_mixed(network->logits.grad(), each.at("grad_logits"), 1e-7, "gradient");
  }
}

}  // namespace
}  // namespace paceline::algorithms
