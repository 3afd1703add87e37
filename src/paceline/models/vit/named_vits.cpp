#include "paceline/models/vit/named_vits.h"

#include "paceline/models/vit/vit.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::models {
namespace {

using Models = config::Registry<nn::Network>;

struct VitSize {
  std::string_view name;
  std::int64_t embed_dim;
  std::int64_t depth;
  std::int64_t num_heads;
};

// Table 1 of the ViT paper for base to huge; tiny and small are DeiT's, medium is timm's.
constexpr std::array kSizes{
    VitSize{"tiny", 192, 12, 3},  VitSize{"small", 384, 12, 6},   VitSize{"medium", 512, 12, 8},
    VitSize{"base", 768, 12, 12}, VitSize{"large", 1024, 24, 16}, VitSize{"huge", 1280, 32, 16},
};

struct NamedVit {
  std::string_view size;
  std::int64_t patch_size;
  int img_size = 224;
};

constexpr std::array kVits{
    NamedVit{"tiny", 16},       NamedVit{"tiny", 16, 384},  NamedVit{"tiny", 32},
    NamedVit{"small", 8},       NamedVit{"small", 16},      NamedVit{"small", 16, 384},
    NamedVit{"small", 32},      NamedVit{"small", 32, 384}, NamedVit{"base", 8},
    NamedVit{"base", 16},       NamedVit{"base", 16, 384},  NamedVit{"base", 32},
    NamedVit{"base", 32, 384},  NamedVit{"large", 14},      NamedVit{"large", 16},
    NamedVit{"large", 16, 384}, NamedVit{"large", 32},      NamedVit{"large", 32, 384},
    NamedVit{"huge", 14},
};
constexpr std::array kDeits{NamedVit{"tiny", 16}, NamedVit{"small", 16}, NamedVit{"base", 16},
                            NamedVit{"base", 16, 384}};
constexpr std::array kDeit3s{
    NamedVit{"small", 16},      NamedVit{"small", 16, 384}, NamedVit{"medium", 16},
    NamedVit{"base", 16},       NamedVit{"base", 16, 384},  NamedVit{"large", 16},
    NamedVit{"large", 16, 384}, NamedVit{"huge", 14},
};
constexpr std::array kDinos{NamedVit{"small", 14, 518}, NamedVit{"base", 14, 518},
                            NamedVit{"large", 14, 518}};

VitConfig config_of(const NamedVit& vit) {
  const VitSize& size = *std::ranges::find(kSizes, vit.size, &VitSize::name);
  return {.img_size = vit.img_size,
          .patch_size = vit.patch_size,
          .embed_dim = size.embed_dim,
          .depth = size.depth,
          .num_heads = size.num_heads};
}

void add(Models& registry, std::string name, const NamedVit& vit, std::string_view what,
         VitConfig defaults) {
  registry.add<VitConfig>(std::move(name),
                          fmt::format("{} of size {} with patches of {} pixels, timm's names.",
                                      what, vit.size, vit.patch_size),
                          std::move(defaults));
}

std::string name_of(std::string_view family, const NamedVit& vit) {
  return fmt::format("{}_{}_patch{}_{}", family, vit.size, vit.patch_size, vit.img_size);
}

void add_deits(Models& registry) {
  for (const NamedVit& vit : kDeits) {
    VitConfig config = config_of(vit);
    add(registry, name_of("deit", vit), vit, "DeiT", config);
    config.distilled = true;
    add(registry,
        fmt::format("deit_{}_distilled_patch{}_{}", vit.size, vit.patch_size, vit.img_size), vit,
        "DeiT with a distillation token", config);
  }
  for (const NamedVit& vit : kDeit3s) {
    VitConfig config = config_of(vit);
    config.no_embed_class = true;
    config.init_values = 1e-6;
    add(registry, name_of("deit3", vit), vit, "DeiT III", config);
  }
}

void add_with_registers(Models& registry) {
  for (const NamedVit& vit : kDinos) {
    VitConfig config = config_of(vit);
    config.init_values = 1e-5;
    add(registry, fmt::format("vit_{}_patch{}_dinov2", vit.size, vit.patch_size), vit,
        "DINOv2's ViT", config);
    config.reg_tokens = 4;
    config.no_embed_class = true;
    add(registry, fmt::format("vit_{}_patch{}_reg4_dinov2", vit.size, vit.patch_size), vit,
        "DINOv2's ViT with four registers", config);
  }
  const NamedVit base{"base", 16, 256};
  VitConfig config = config_of(base);
  config.class_token = false;
  config.no_embed_class = true;
  config.reg_tokens = 4;
  config.global_pool = VitPool::kAvg;
  add(registry, "vit_base_patch16_reg4_gap_256", base,
      "ViT with four registers, without a class token,", config);
}

}  // namespace

void add_vits(config::Registry<nn::Network>& registry) {
  for (const NamedVit& vit : kVits) add(registry, name_of("vit", vit), vit, "ViT", config_of(vit));
  add_deits(registry);
  add_with_registers(registry);
  registry.add<VitConfig>();
}

}  // namespace paceline::models
