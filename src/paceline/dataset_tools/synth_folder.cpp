#include "paceline/dataset_tools/synth_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/sync_all.h"

#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

/// Written last: what the folder was made of.
constexpr const char* kMarkerName = "paceline-synth.txt";

/// True when `path` holds the set of this marker; throws when it holds anything else.
bool is_complete(const fs::path& path, const std::string& marker) {
  if (!fs::exists(path)) return false;
  if (fs::is_directory(path) && fs::is_empty(path)) return false;
  std::ifstream file(path / kMarkerName);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  if (found == marker) return true;
  if (found.empty()) {
    throw base::ConfigError(fmt::format(
        "data synth: '{}' is not an empty folder and not an earlier synthetic set; give another "
        "path, or remove it",
        path.string()));
  }
  throw base::ConfigError(
      fmt::format("data synth: '{}' holds another synthetic set:\n  found:    {}  expected: "
                  "{}remove the folder "
                  "or give another path",
                  path.string(), found, marker));
}

}  // namespace

bool write_synth_folder(const std::string& path, const std::string& marker, base::FileSystem& files,
                        const std::function<void(const fs::path& folder)>& write) {
  if (is_complete(path, marker)) return false;
  const fs::path whole_path = fs::absolute(path).lexically_normal();
  const fs::path target = whole_path.has_filename() ? whole_path : whole_path.parent_path();
  const fs::path partial = base::unfinished_path(target);
  const auto remove_partial = [&] {
    std::error_code ignored;  // the first error is the one to report
    fs::remove_all(partial, ignored);
  };
  try {
    base::create_durable_directories(files, target.parent_path());
    write(partial);
    const auto file = files.create(partial / kMarkerName);
    file->write(marker);
    file->close();
    base::sync_all(files, partial);  // once it has its name it counts as whole
    files.rename(partial, target);
    files.sync_directory(target.parent_path());
  } catch (const base::FileError& error) {
    remove_partial();
    throw base::DataError(fmt::format("data synth: {}", error.what()));
  } catch (...) {
    remove_partial();
    throw;
  }
  return true;
}

}  // namespace paceline::dataset_tools
