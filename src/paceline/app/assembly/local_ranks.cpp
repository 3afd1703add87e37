#include "paceline/app/assembly/local_ranks.h"

#include "paceline/base/text.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::app {

// One kernel, one space of process ids.
std::string process_space() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  return boot + std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

std::vector<metrics::LocalRank> ranks_beside_first(comm::Communicator& communicator,
                                                   const std::string& gpu) {
  const auto texts =
      communicator.all_gather_text(fmt::format("{} {} {}", process_space(), getpid(), gpu));
  std::vector<metrics::LocalRank> ranks;
  const std::string first_space = base::split(texts.front(), ' ').front();
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto parts = base::split(texts[rank], ' ');
    if (parts[0] != first_space) continue;
    ranks.push_back({static_cast<int>(rank), std::stoi(parts[1]), parts[2]});
  }
  return ranks;
}

std::shared_ptr<const data::WorkSlots> common_slots(comm::Communicator& communicator,
                                                    int num_threads) {
  const auto own = data::WorkSlots::create(num_threads);
  const std::string own_space = process_space();
  const auto texts =
      communicator.all_gather_text(fmt::format("{} {} {}", own_space, own->path(), num_threads));
  std::string path;
  int count = 0;
  for (const std::string& text : texts) {
    const auto parts = base::split(text, ' ');
    if (parts[0] != own_space) continue;
    if (path.empty()) path = parts[1];
    count += std::stoi(parts[2]);
  }
  auto slots = data::WorkSlots::join(path, count);
  communicator.all_gather_text("joined");  // from here on the first rank's own may go
  return slots;
}

}  // namespace paceline::app
