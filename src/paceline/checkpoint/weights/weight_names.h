#pragma once

#include <span>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// The names of a file's tensors in the words of this program.
struct TranslatedNames {
  std::vector<std::string> names;  ///< in the order given
  std::vector<std::string> notes;  ///< what was changed, for people
};

/// torchvision's names of a ResNet and timm's of a ViT are ours. What wrappers put before all names
/// ("module." of DDP, "_orig_mod." of torch.compile, "model." and "net." of Lightning and its like)
/// is left out, and torchvision's names of a ViT become timm's: both lay out the same tensors.
TranslatedNames translate_weight_names(std::span<const std::string> names);

}  // namespace paceline::checkpoint
