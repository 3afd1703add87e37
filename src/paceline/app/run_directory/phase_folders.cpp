#include "paceline/app/run_directory/phase_folders.h"

#include "paceline/app/run_directory/run_directory.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/listing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

/// 2 of "2-whole"; 0 of what is no phase's.
int number_of_phase(const fs::path& folder) {
  const std::string name = folder.filename().string();
  int number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_phase = parsed.ec == std::errc() && parsed.ptr != name.data() + name.size() &&
                        *parsed.ptr == '-' && number > 0;
  return is_phase ? number : 0;
}

}  // namespace

std::string phase_folder_name(int number, const std::string& name) {
  return fmt::format("{}-{}", number, name);
}

fs::path phase_folder(const fs::path& run, const std::string& name) {
  const fs::path phases = run / "phases";
  return name.empty() ? phases : phases / name;
}

std::vector<fs::path> phase_folders(const fs::path& run) {
  std::vector<fs::path> folders;
  const fs::path phases = phase_folder(run, "");
  if (!base::folder_exists(phases)) return folders;
  for (const auto& entry : fs::directory_iterator(phases)) {
    if (entry.is_directory() && number_of_phase(entry.path()) > 0) folders.push_back(entry.path());
  }
  std::ranges::sort(folders, {}, number_of_phase);
  return folders;
}

bool has_saved(const fs::path& run) {
  const std::optional<fs::path> folder = folder_of_run(run);
  return folder && !checkpoint::list_checkpoints(*folder).complete.empty();
}

std::optional<fs::path> newest_phase(const fs::path& run) {
  const std::vector<fs::path> folders = phase_folders(run);
  if (folders.empty()) return std::nullopt;
  for (const fs::path& folder : folders | std::views::reverse) {
    if (has_saved(folder)) return folder;
  }
  return folders.back();
}

std::optional<fs::path> phase_of_guide_name(const fs::path& named) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kEndings{
      {{"_best.pt", "@best"}, {"_final.pt", "@last"}}};
  const std::string file = named.filename().string();
  const auto ending = std::ranges::find_if(
      kEndings, [&](const auto& candidate) { return file.ends_with(candidate.first); });
  const std::vector<fs::path> folders =
      ending != kEndings.end() ? phase_folders(named.parent_path()) : std::vector<fs::path>();
  if (folders.empty()) return std::nullopt;
  const std::string stage = file.substr(0, file.size() - ending->first.size());
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    names.push_back(name.substr(name.find('-') + 1));
    if (names.back() == stage) return folder.string() + std::string(ending->second);
  }
  throw base::CheckpointError(fmt::format("{}: {} has begun no stage {}; there are: {}",
                                          named.string(), named.parent_path().string(), stage,
                                          base::join(names, ", ")));
}

}  // namespace paceline::app
