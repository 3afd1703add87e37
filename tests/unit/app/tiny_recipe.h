#pragma once

#include <string>

#include <fmt/format.h>

namespace paceline::app {

/// 7 images in batches of 4, so two steps an epoch and four in all. `checkpoint` is that section.
inline std::string tiny_recipe(const std::string& checkpoint) {
  return fmt::format(R"(
run:        {{seed: 3}}
model:      {{name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 1, num_heads: 2}}
data:       {{name: synthetic, num_samples: 7, num_val_samples: 3, num_classes: 5, size: 16,
             global_batch_size: 4, num_threads: 1}}
train:      {{duration: 2ep}}
optimizer:  {{name: sgd, lr: 0.05}}
checkpoint: {}
loggers:    {{jsonl: }}
)",
                     checkpoint);
}

}  // namespace paceline::app
