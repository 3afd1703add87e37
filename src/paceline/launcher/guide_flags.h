#pragma once

#include <span>
#include <string>
#include <vector>

namespace paceline::launcher {

/// Arguments of `paceline train` in our words.
struct OwnWords {
  std::vector<std::string> arguments;
  std::vector<std::string> notes = {};  ///< of what there is another thing for here
};

/// The flags of the launchers of a guide whose recipes are JSON (accelerate launch, torchrun and
/// its scripts) as ours: `--config FILE.json`, `--num_processes`, `--mixed_precision`,
/// `--checkpoint_dir`, `--resume_from` and so on. Where no recipe in JSON is named, all arguments
/// as they are. Throws ConfigError for a value that has no meaning here.
OwnWords in_own_words(std::span<const std::string> arguments);

}  // namespace paceline::launcher
