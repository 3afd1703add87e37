#include "paceline/models/resnet/named_resnets.h"

#include "paceline/models/resnet/resnet.h"
#include "paceline/models/resnet/resnet9.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::models {
namespace {

using Models = config::Registry<nn::Network>;

struct ResNetDepth {
  int depth;
  ResNetBlock block;
  std::array<std::int64_t, 4> layers;
};

constexpr std::array kResNetDepths{
    ResNetDepth{14, ResNetBlock::kBottleneck, {1, 1, 1, 1}},
    ResNetDepth{18, ResNetBlock::kBasic, {2, 2, 2, 2}},
    ResNetDepth{26, ResNetBlock::kBottleneck, {2, 2, 2, 2}},
    ResNetDepth{34, ResNetBlock::kBasic, {3, 4, 6, 3}},
    ResNetDepth{50, ResNetBlock::kBottleneck, {3, 4, 6, 3}},
    ResNetDepth{101, ResNetBlock::kBottleneck, {3, 4, 23, 3}},
    ResNetDepth{152, ResNetBlock::kBottleneck, {3, 8, 36, 3}},
};

ResNetConfig resnet_of_depth(int depth) {
  const ResNetDepth& found = *std::ranges::find(kResNetDepths, depth, &ResNetDepth::depth);
  return {.layers = {found.layers.begin(), found.layers.end()}, .block = found.block};
}

void add_resnet(Models& registry, std::string name, std::string_view title, std::string_view whose,
                ResNetConfig defaults) {
  registry.add<ResNetConfig>(std::move(name), fmt::format("{}, {} names.", title, whose),
                             std::move(defaults));
}

void add_resnext(Models& registry, int depth, std::int64_t groups, std::int64_t width_per_group) {
  ResNetConfig config = resnet_of_depth(depth);
  config.groups = groups;
  config.width_per_group = width_per_group;
  add_resnet(registry, fmt::format("resnext{}_{}x{}d", depth, groups, width_per_group),
             fmt::format("ResNeXt-{} of {} groups of {} channels", depth, groups, width_per_group),
             "torchvision's", config);
}

void add_wide(Models& registry, int depth) {
  ResNetConfig config = resnet_of_depth(depth);
  config.width_per_group = 2 * config.width_per_group;
  add_resnet(registry, fmt::format("wide_resnet{}_2", depth),
             fmt::format("ResNet-{} with 3x3 convolutions of twice the channels", depth),
             "torchvision's", config);
}

/// timm starts its blocks as the identity.
ResNetConfig timm_resnet(int depth) {
  ResNetConfig config = resnet_of_depth(depth);
  config.zero_init_residual = true;
  return config;
}

void add_resnet_d(Models& registry, int depth) {
  ResNetConfig config = timm_resnet(depth);
  config.stem = ResNetStem::kDeep;
  config.shortcut = ResNetShortcut::kAveragePool;
  add_resnet(registry, fmt::format("resnet{}d", depth), fmt::format("ResNet-{}-D", depth), "timm's",
             config);
}

void add_tiered(Models& registry, int depth) {
  ResNetConfig config = timm_resnet(depth);
  config.stem = ResNetStem::kDeepTiered;
  config.shortcut = ResNetShortcut::kAveragePool;
  add_resnet(registry, fmt::format("resnet{}t", depth), fmt::format("ResNet-{}-T", depth), "timm's",
             config);
}

/// Section 4.2 of the paper: 6n + 2 layers, whose shortcuts have no parameters.
void add_cifar(Models& registry, int depth) {
  const std::int64_t blocks = (depth - 2) / 6;
  add_resnet(registry, fmt::format("resnet{}", depth),
             fmt::format("ResNet-{} of 16 to 64 channels, for images of about 32 pixels", depth),
             "torchvision's",
             {.num_classes = 10,
              .layers = {blocks, blocks, blocks},
              .width = 16,
              .stem = ResNetStem::kSmall,
              .shortcut = ResNetShortcut::kPadding});
}

}  // namespace

void add_resnets(config::Registry<nn::Network>& registry) {
  for (const int depth : {18, 34, 50, 101, 152})
    add_resnet(registry, fmt::format("resnet{}", depth), fmt::format("ResNet-{}", depth),
               "torchvision's", resnet_of_depth(depth));
  add_resnext(registry, 50, 32, 4);
  add_resnext(registry, 101, 32, 8);
  add_resnext(registry, 101, 64, 4);
  add_wide(registry, 50);
  add_wide(registry, 101);
  for (const int depth : {18, 26, 34, 50, 101, 152}) add_resnet_d(registry, depth);
  add_resnet(registry, "resnet26", "ResNet-26", "timm's", timm_resnet(26));
  add_tiered(registry, 14);
  for (const int depth : {20, 32, 44, 56, 110}) add_cifar(registry, depth);
  registry.add<ResNet9Config>();
  registry.add<ResNetConfig>();
}

}  // namespace paceline::models
