#pragma once

#include "paceline/nn/image_size.h"
#include "paceline/tensor/adaptation.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <optional>
#include <span>

namespace paceline::models {

/// What a ViT adds to its tokens: [1, prefix + height * width, dim], the patches row by row.
struct PositionShape {
  std::int64_t prefix = 0;  ///< positions before the patches': of the class token and its like
  nn::ImageSize grid;       ///< patches
  std::int64_t dim = 0;
};

/// Positions for another grid of patches by bicubic interpolation with antialiasing, those of the
/// prefix as they are: timm's resample_abs_pos_embed.
at::Tensor resample_positions(const at::Tensor& positions, std::int64_t prefix,
                              const nn::ImageSize& from, const nn::ImageSize& to);

/// How stored positions become `wanted`. The stored grid is a square or, if its number of patches
/// is none, has the proportions of the wanted one. Stored without a prefix, the prefix gets zeros,
/// which is what was added to it there. Nothing if no such grid fits.
std::optional<tensor::Adaptation> adapt_positions(std::span<const std::int64_t> stored,
                                                  const PositionShape& wanted);

/// How the stored weight [dim, channels, height, width] of a patch embedding becomes that of
/// patches of another size, which gives the same tokens for images resized alike: timm's
/// resample_patch_embed. Nothing if other sizes differ, too.
/// Paper: Beyer et al., "FlexiViT: One model for all patch sizes", 2023.
std::optional<tensor::Adaptation> adapt_patch_weight(std::span<const std::int64_t> stored,
                                                     std::span<const std::int64_t> wanted);

}  // namespace paceline::models
