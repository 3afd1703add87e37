#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace benchmarks {

using NamedShape = std::pair<std::string, std::vector<std::int64_t>>;

/// The parameters of ViT-B/32 for 1000 classes: 88 million, by timm's names.
inline std::vector<NamedShape> vit_b_32() {
  std::vector<NamedShape> shapes{{"cls_token", {1, 1, 768}},
                                 {"pos_embed", {1, 50, 768}},
                                 {"patch_embed.proj.weight", {768, 3, 32, 32}},
                                 {"patch_embed.proj.bias", {768}}};
  const auto add = [&](const std::string& layer, std::vector<std::int64_t> weight) {
    const std::int64_t outputs = weight[0];
    shapes.push_back({layer + ".weight", std::move(weight)});
    shapes.push_back({layer + ".bias", {outputs}});
  };
  for (int block = 0; block < 12; ++block) {
    const std::string prefix = fmt::format("blocks.{}.", block);
    add(prefix + "norm1", {768});
    add(prefix + "attn.qkv", {2304, 768});
    add(prefix + "attn.proj", {768, 768});
    add(prefix + "norm2", {768});
    add(prefix + "mlp.fc1", {3072, 768});
    add(prefix + "mlp.fc2", {768, 3072});
  }
  add("norm", {768});
  add("head", {1000, 768});
  return shapes;
}

}  // namespace benchmarks
