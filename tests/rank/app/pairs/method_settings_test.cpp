#include "paceline/base/error.h"
#include "paceline/nn/losses.h"
#include "rank/app/pairs/method_run.h"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Settings beside those of the pairs: which of them are refused, by whom, and which are not.

namespace paceline::app {
namespace {

using ::testing::ThrowsMessage;

/// Compares with class indices alone.
struct OnIndicesConfig {};

class OnIndices final : public nn::Loss {
 public:
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return at::cross_entropy_loss(outputs, targets.to(at::kLong), {}, at::Reduction::None);
  }
  bool takes_probabilities() const override { return false; }
};

}  // namespace
}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::OnIndicesConfig> {
  using Config = paceline::app::OnIndicesConfig;
  static constexpr std::string_view name = "on_indices";
  static constexpr std::string_view summary = "Compares with class indices alone.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{};
};

namespace paceline::app {
namespace {

constexpr int kRanksOfSettings = 2;

struct MethodsAs {
  std::vector<std::string> methods;  ///< with the settings that pairs have
  test::Overrides more;
  std::vector<std::string> told = {};  ///< by the error; empty: they train and resume
  std::vector<std::string> strategies = {"ddp", "fsdp"};
};

const std::vector<MethodsAs> kMethodsAs{
    // Targets that a loss cannot take.
    {{"mixup"}, {"loss=on_indices"}, {"algorithms.mixup.interpolate_loss=true"}},
    {{"cutmix"}, {"loss=on_indices"}, {"algorithms.cutmix.interpolate_loss=true"}},
    {{"mixup"}, {"loss=on_indices", "++algorithms.mixup.interpolate_loss=true"}},
    {{"cutmix"}, {"loss=on_indices", "++algorithms.cutmix.interpolate_loss=true"}},
    {{"mixup", "cutmix"},
     {"++algorithms.mixup.interpolate_loss=true", "++algorithms.cutmix.interpolate_loss=true"},
     {"'cutmix' and 'mixup' both replace the loss"}},
    {{"mixup", "cutmix"}, {"++algorithms.mixup.interpolate_loss=true"}},
    {{"mixup", "distillation"},
     {"++algorithms.mixup.interpolate_loss=true"},
     {"'distillation' and 'mixup' both replace the loss"}},
    {{"cutmix", "distillation"},
     {"++algorithms.cutmix.interpolate_loss=true"},
     {"'cutmix' and 'distillation' both replace the loss"}},
    {{"selective_backprop"},
     {"loss=jensen_shannon", "loss.num_views=2", "data.sampler=repeated_augmentation",
      "++data.sampler.repeats=2"},
     {"algorithms.selective_backprop", "several views"}},
    // BatchNorms.
    {{"ghost_batchnorm"},
     {"parallel.sync_batch_norm=true"},
     {"algorithms.ghost_batchnorm", "parallel.sync_batch_norm"}},
    {{"ghost_batchnorm"},
     {"model.freeze_batch_norm=true"},
     {"algorithms.ghost_batchnorm", "model.freeze_batch_norm"}},
    {{"ghost_batchnorm"}, {"model.freeze=[stem]"}},
    {{"stochastic_depth"},
     {"parallel.sync_batch_norm=true"},
     {"algorithms.stochastic_depth", "parallel.sync_batch_norm", "method: sample"}},
    {{"stochastic_depth"},
     {"parallel.sync_batch_norm=true", "++algorithms.stochastic_depth.method=sample"}},
    {{"stochastic_depth"},
     {"+model.drop_path_rate=0.1"},
     {"algorithms.stochastic_depth", "model.drop_path_rate"}},
    // Gradients.
    {{"sam"}, {"parallel.ddp.compression=powersgd"}, {"algorithms.sam", "powersgd"}, {"ddp"}},
    {{"sam"},
     {"parallel.ddp.compression=powersgd", "++algorithms.sam.ascent=global"},
     {"algorithms.sam", "powersgd"},
     {"ddp"}},
    {{"sam"}, {"parallel.ddp.compression=fp16", "++algorithms.sam.ascent=global"}, {}, {"ddp"}},
    {{"sam"}, {"++algorithms.sam.ascent=rank"}, {"algorithms.sam.ascent=global", "fsdp"}, {"fsdp"}},
    {{"grad_clip_adaptive"},
     {"train.grad_clip_value=1"},
     {"train.grad_clip_adaptive", "grad_clip_value"}},
    {{"grad_clip_norm"}, {"train.grad_clip_value=0.1"}},
    {{"layer_freezing"},
     {"parallel.ddp.compression=powersgd"},
     {"algorithms.layer_freezing", "powersgd"},
     {"ddp"}},
    {{"layer_freezing"},
     {"parallel.ddp.static_graph=true"},
     {"algorithms.layer_freezing", "static_graph"},
     {"ddp"}},
    {{"layer_freezing"},
     {"model.freeze=[]"},
     {"algorithms.layer_freezing", "fsdp freezes whole units", "parallel.strategy zero2"},
     {"fsdp"}},
    {{"layer_freezing"},
     {"++algorithms.layer_freezing.freeze_level=0.9"},
     {"algorithms.layer_freezing", "'layer1.0'"},
     {"fsdp"}},
    // Weights that were trained without what changes layers.
    {{"blurpool", "squeeze_excite"}, {"model.pretrained={folder}/pretrained.safetensors"}},
    {{"blurpool"},
     {"model.pretrained={folder}/pretrained.safetensors", "++algorithms.blurpool.min_channels=99",
      "++algorithms.blurpool.replace_maxpools=false"},
     {"algorithms.blurpool", "no layer to blur"}},
    {{"factorize"},
     {"model.pretrained={folder}/pretrained.safetensors"},
     {"algorithms.factorize.init: fresh", "model.pretrained"}},
    {{"factorize"},
     {"model.pretrained={folder}/pretrained.safetensors", "++algorithms.factorize.init=svd"}},
    {{"squeeze_excite"},
     {"model.pretrained={folder}/pretrained.safetensors",
      "++algorithms.squeeze_excite.min_channels=99"},
     {"algorithms.squeeze_excite", "no convolution of at least 99"}},
};

TEST(MethodPairsSettings, AreRefusedForTheReasonThatTheTableNamesAndNoOthers) {
  for (const MethodsAs& settings : kMethodsAs) {
    for (const std::string& strategy : settings.strategies) {
      test::Overrides overrides = test::overrides_of(settings.methods, strategy);
      overrides.insert(overrides.end(), settings.more.begin(), settings.more.end());
      SCOPED_TRACE(fmt::format("{}", fmt::join(overrides, " ")));
      test::MethodRun run;
      run.registries().losses.add<OnIndicesConfig>(
          [](const OnIndicesConfig&) { return std::make_unique<OnIndices>(); });
      const auto start = [&] {
        run.train(run.load(overrides, kRanksOfSettings), "whole", kRanksOfSettings);
      };
      if (!settings.told.empty()) {
        EXPECT_THAT(start, ThrowsMessage<base::ConfigError>(test::all_of(settings.told)));
        continue;
      }
      EXPECT_NO_THROW(start());
      EXPECT_NO_THROW(run.train(run.load(overrides, kRanksOfSettings), "resumed", kRanksOfSettings,
                                "whole@step-10"));
      EXPECT_EQ(run.remains_of("resumed"), run.remains_of("whole"));
    }
  }
}

}  // namespace
}  // namespace paceline::app
