#pragma once

#include <string>
#include <vector>

namespace paceline::checkpoint {

/// What the bits of a resumed run depend on besides the checkpoint: with other values the run goes
/// on, with the same samples in the same order, but sums may differ in their last bits.
struct Environment {
  int world_size = 1;
  int threads_per_rank = 1;
  std::string libtorch = {};         ///< "2.11.0"
  std::string instruction_set = {};  ///< LibTorch's choice for this CPU: "AVX2"
  std::string device = {};           ///< "cpu", or the GPU's name
  bool operator==(const Environment&) const = default;
};

/// Of this process. `device` is "cpu" or the GPU's name.
Environment current_environment(int world_size, std::string device);

/// One line for each difference: "world size: saved with 2, now 4".
std::vector<std::string> differences(const Environment& saved, const Environment& now);

}  // namespace paceline::checkpoint
