#include "paceline/models/builtin.h"

#include <memory>
#include <string>

namespace paceline::models {
namespace {

void add_resnet(Registry& registry, int layers, const ResNetShape& shape) {
  registry.add<ResNetConfig>(
      fmt::format("resnet{}", layers), fmt::format("ResNet-{}, torchvision's names.", layers),
      ResNetConfig{},
      [shape](const ResNetConfig& config) { return std::make_unique<ResNet>(shape, config); });
}

void add_vit(Registry& registry, const std::string& size, const VitConfig& defaults) {
  registry.add<VitConfig>(
      fmt::format("vit_{}_patch{}_{}", size, defaults.patch_size, defaults.img_size),
      fmt::format("ViT-{} with patches of {} pixels, timm's names.", size, defaults.patch_size),
      defaults);
}

}  // namespace

void add_builtin(Registry& registry) {
  add_resnet(registry, 18, kResNet18);
  add_resnet(registry, 34, kResNet34);
  add_resnet(registry, 50, kResNet50);
  add_resnet(registry, 101, kResNet101);
  add_resnet(registry, 152, kResNet152);
  for (const std::int64_t patch_size : {16, 32}) {
    add_vit(registry, "tiny", {.patch_size = patch_size, .embed_dim = 192, .num_heads = 3});
    add_vit(registry, "small", {.patch_size = patch_size, .embed_dim = 384, .num_heads = 6});
    add_vit(registry, "base", {.patch_size = patch_size, .embed_dim = 768, .num_heads = 12});
  }
  registry.add<VitConfig>();
  add_convnexts(registry);
  add_mobilenets(registry);
  add_efficientnets(registry);
}

}  // namespace paceline::models
