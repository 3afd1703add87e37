#include "paceline/launcher/sweep/machine_shares.h"

#include "paceline/base/text.h"
#include "paceline/launch/machine.h"

#include <algorithm>
#include <cstddef>

#include <sched.h>

namespace paceline::launcher {
namespace {

std::vector<int> cores_of_mask() {
  cpu_set_t mask;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;  // more CPUs than it can hold
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

std::vector<std::string> names_of_gpus(const launch::Environment& environment) {
  const int count = launch::visible_gpus(environment);
  std::vector<std::string> names;
  for (const std::string& part : base::split(environment.get_or("CUDA_VISIBLE_DEVICES", ""), ',')) {
    if (static_cast<int>(names.size()) < count && !base::trim(part).empty())
      names.emplace_back(base::trim(part));
  }
  if (names.empty()) {
    for (int i = 0; i < count; ++i) names.push_back(std::to_string(i));
  }
  return names;
}

template <class Item>
std::vector<Item> share_of(const std::vector<Item>& items, std::size_t index, std::size_t count) {
  if (items.empty()) return {};
  if (items.size() < count) return {items[index % items.size()]};
  const auto at = [&](std::size_t part) {
    return items.begin() + static_cast<std::ptrdiff_t>(part * items.size() / count);
  };
  return {at(index), at(index + 1)};
}

}  // namespace

MachineParts parts_of_this_machine(const launch::Environment& environment) {
  MachineParts parts{.cores = cores_of_mask(),
                     .num_cores = launch::available_cores(),
                     .gpus = names_of_gpus(environment)};
  if (static_cast<int>(parts.cores.size()) != parts.num_cores) parts.cores.clear();
  return parts;
}

std::vector<MachineShare> share_machine(const MachineParts& machine, int num_jobs) {
  std::vector<MachineShare> shares;
  const auto count = static_cast<std::size_t>(num_jobs);
  for (std::size_t i = 0; i < count; ++i) {
    MachineShare share{.cores = share_of(machine.cores, i, count),
                       .gpus = share_of(machine.gpus, i, count)};
    share.threads = share.cores.empty() ? std::max(1, machine.num_cores / num_jobs)
                                        : static_cast<int>(share.cores.size());
    shares.push_back(std::move(share));
  }
  return shares;
}

launch::Environment environment_of(const MachineShare& share, int num_jobs, int num_ranks,
                                   launch::Environment environment) {
  if (num_jobs == 1) return environment;
  if (!share.gpus.empty()) environment.set("CUDA_VISIBLE_DEVICES", base::join(share.gpus, ","));
  const int ranks =
      num_ranks > 0 ? num_ranks : std::max<int>(1, static_cast<int>(share.gpus.size()));
  environment.set_default("OMP_NUM_THREADS", std::to_string(std::max(1, share.threads / ranks)));
  return environment;
}

}  // namespace paceline::launcher
