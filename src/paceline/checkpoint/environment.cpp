#include "paceline/checkpoint/environment.h"

#include "paceline/tensor/aten.h"

#include <utility>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

namespace paceline::checkpoint {
namespace {

template <typename T>
void compare(std::string_view what, const T& saved, const T& now, std::vector<std::string>& lines) {
  if (saved != now) lines.push_back(fmt::format("{}: saved with {}, now {}", what, saved, now));
}

}  // namespace

Environment current_environment(int world_size, std::string device) {
  return {.world_size = world_size,
          .threads_per_rank = at::get_num_threads(),
          .libtorch = TORCH_VERSION,
          .instruction_set = at::get_cpu_capability(),
          .device = std::move(device)};
}

std::vector<std::string> differences(const Environment& saved, const Environment& now) {
  std::vector<std::string> lines;
  compare("world size", saved.world_size, now.world_size, lines);
  compare("threads per rank", saved.threads_per_rank, now.threads_per_rank, lines);
  compare("LibTorch", saved.libtorch, now.libtorch, lines);
  compare("instruction set", saved.instruction_set, now.instruction_set, lines);
  compare("device", saved.device, now.device, lines);
  return lines;
}

}  // namespace paceline::checkpoint
