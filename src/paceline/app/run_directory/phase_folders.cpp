#include "paceline/app/run_directory/phase_folders.h"

#include "paceline/app/run_directory/run_directory.h"
#include "paceline/base/file_status.h"
#include "paceline/checkpoint/listing.h"

#include <algorithm>
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

}  // namespace paceline::app
