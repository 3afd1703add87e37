#include "paceline/models/builtin.h"

#include "paceline/models/resnet/named_resnets.h"

#include <string>

namespace paceline::models {
namespace {

void add_vit(Registry& registry, const std::string& size, const VitConfig& defaults) {
  registry.add<VitConfig>(
      fmt::format("vit_{}_patch{}_{}", size, defaults.patch_size, defaults.img_size),
      fmt::format("ViT-{} with patches of {} pixels, timm's names.", size, defaults.patch_size),
      defaults);
}

}  // namespace

void add_builtin(Registry& registry) {
  add_resnets(registry);
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
