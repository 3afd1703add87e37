#pragma once

#include "paceline/checkpoint/format/torch_file.h"

#include <string>
#include <utility>
#include <vector>

namespace paceline::checkpoint {

/// The weights among all that a file of torch.save holds.
struct ChosenStateDict {
  std::vector<std::pair<std::string, StoredTensor>> tensors;  ///< in the order of the dict
  std::vector<std::string> notes;                             ///< what was chosen, for people
};

/// A dict of tensors itself, or the one that training programs keep in theirs: under
/// `model_state_dict`, `state_dict`, `state` and in it `model`, or `model`. `key` chooses another,
/// such as `model_ema`, with dots where dicts lie in dicts. Throws CheckpointError that tells the
/// keys there are, if none of it is a dict of tensors.
ChosenStateDict choose_state_dict(const TorchFile& file, const std::string& key);

}  // namespace paceline::checkpoint
