#include "paceline/checkpoint/weights/weight_names.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

constexpr std::array<std::string_view, 4> kWrappers{"module.", "_orig_mod.", "model.", "net."};

/// Leaves out what stands before each of the names; says what that was.
std::string unwrap(std::vector<std::string>& names) {
  std::string removed;
  for (bool is_wrapped = !names.empty(); is_wrapped;) {
    is_wrapped = false;
    for (const std::string_view wrapper : kWrappers) {
      if (!std::ranges::all_of(names, [&](auto& name) { return name.starts_with(wrapper); }))
        continue;
      for (std::string& name : names) name.erase(0, wrapper.size());
      removed += wrapper;
      is_wrapped = true;
    }
  }
  return removed;
}

using Renaming = std::pair<std::string_view, std::string_view>;

// torchvision/models/vision_transformer.py beside timm/models/vision_transformer.py. Before 0.12
// torchvision numbered the MLP's layers.
constexpr std::array kVitPrefixes{
    Renaming{"class_token", "cls_token"}, Renaming{"conv_proj.", "patch_embed.proj."},
    Renaming{"encoder.pos_embedding", "pos_embed"}, Renaming{"encoder.ln.", "norm."},
    Renaming{"heads.head.", "head."}};
constexpr std::string_view kVitBlock = "encoder.layers.encoder_layer_";
constexpr std::array kVitBlockParts{Renaming{"ln_1.", "norm1."},
                                    Renaming{"ln_2.", "norm2."},
                                    Renaming{"self_attention.in_proj_", "attn.qkv."},
                                    Renaming{"self_attention.out_proj.", "attn.proj."},
                                    Renaming{"mlp.linear_1.", "mlp.fc1."},
                                    Renaming{"mlp.linear_2.", "mlp.fc2."},
                                    Renaming{"mlp.0.", "mlp.fc1."},
                                    Renaming{"mlp.3.", "mlp.fc2."}};

std::string renamed(const std::string& name, std::span<const Renaming> renamings) {
  for (const auto& [theirs, ours] : renamings) {
    if (name.starts_with(theirs)) return std::string(ours) + name.substr(theirs.size());
  }
  return name;
}

std::string timm_name(const std::string& name) {
  if (!name.starts_with(kVitBlock)) return renamed(name, kVitPrefixes);
  const std::size_t dot = name.find('.', kVitBlock.size());
  if (dot == std::string::npos) return name;
  const std::string number = name.substr(kVitBlock.size(), dot - kVitBlock.size());
  return fmt::format("blocks.{}.{}", number, renamed(name.substr(dot + 1), kVitBlockParts));
}

}  // namespace

TranslatedNames translate_weight_names(std::span<const std::string> names) {
  TranslatedNames translated{{names.begin(), names.end()}, {}};
  const std::string removed = unwrap(translated.names);
  if (!removed.empty())
    translated.notes.push_back(fmt::format("'{}' before all names was left out", removed));
  if (std::ranges::any_of(translated.names,
                          [](auto& name) { return name.starts_with(kVitBlock); })) {
    for (std::string& name : translated.names) name = timm_name(name);
    translated.notes.emplace_back("torchvision's names of a ViT were turned into timm's");
  }
  return translated;
}

}  // namespace paceline::checkpoint
