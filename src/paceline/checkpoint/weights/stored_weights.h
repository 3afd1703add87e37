#pragma once

#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/surgery.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// Weights as a path holds them.
struct StoredWeights {
  std::shared_ptr<const void> owner = {};  ///< of what the sources read
  std::vector<TensorSource> tensors = {};  ///< by the names that the path gives them
  std::vector<std::string> class_names =
      {};  ///< of the classifier, by label; empty if it is not told
  std::optional<SurgeryRecord> surgery = {};  ///< of their network; nothing if it is not told
  std::vector<std::string> notes = {};        ///< what was chosen, for people
};

/// Opens a safetensors file, a file of torch.save, an index of either kind's parts
/// (`*.safetensors.index.json`, `*.bin.index.json`), the directory of a checkpoint, or a folder
/// with find_weight_file(). Tensors are views of the mapped files, which are read when they are
/// loaded.
///
/// `key` chooses among several weights: as choose_state_dict() does, or of a checkpoint as
/// chosen_weights() does. Throws CheckpointError that names the file, what is wrong and the cure.
StoredWeights open_weights(const std::filesystem::path& path, const std::string& key = {});

/// The weights in a folder of the Hugging Face Hub: model.safetensors or pytorch_model.bin, or the
/// one index of their parts; nothing if there is none.
std::optional<std::filesystem::path> find_weight_file(const std::filesystem::path& folder);

}  // namespace paceline::checkpoint
