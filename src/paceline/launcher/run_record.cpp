#include "paceline/launcher/run_record.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

std::optional<ProcessIdentity> identity_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name in field 2 may hold anything, also spaces and brackets; field 3 follows the last one.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string field;
  char state = '?';
  fields >> state;
  if (state == 'Z' || state == 'X') return std::nullopt;
  for (int number = 4; number < 22; ++number) fields >> field;
  ProcessIdentity identity{.pid = pid, .boot_id = read_boot_id()};
  fields >> identity.start_ticks;
  return identity;
}

fs::path launcher_file(const fs::path& run_dir, int node_rank, const std::string& extension) {
  return run_dir / (node_rank == 0 ? "launcher" + extension
                                   : fmt::format("launcher_node_{}{}", node_rank, extension));
}

void write_record(const fs::path& path, const RunRecord& record) {
  nlohmann::ordered_json json = {{"pid", record.launcher.pid},
                                 {"start_ticks", record.launcher.start_ticks},
                                 {"boot_id", record.launcher.boot_id},
                                 {"host", record.host},
                                 {"command", record.command},
                                 {"started_at", record.started_at},
                                 {"exit_code", nullptr}};
  if (record.exit_code) json["exit_code"] = *record.exit_code;
  base::RealFileSystem files;
  // A path may have bytes that are not UTF-8.
  using Json = nlohmann::ordered_json;
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  base::write_file_atomically(files, path, text + "\n");
}

std::optional<RunRecord> read_record(const fs::path& path) {
  std::error_code ignored;  // what cannot be read says so below
  if (fs::symlink_status(path, ignored).type() == fs::file_type::not_found) return std::nullopt;
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;  // a command line is not longer
  try {
    const nlohmann::json json = base::parse_json(base::read_file(path, kMostBytes));
    RunRecord record;
    record.launcher = {json.at("pid"), json.at("start_ticks"), json.at("boot_id")};
    record.host = json.at("host");
    record.command = json.at("command").get<std::vector<std::string>>();
    record.started_at = json.at("started_at");
    if (!json.at("exit_code").is_null()) record.exit_code = json.at("exit_code").get<int>();
    return record;
  } catch (const base::JsonError& error) {
    throw base::CheckpointError(
        fmt::format("{} is not a launcher's record: {}", path.string(), error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw base::CheckpointError(
        fmt::format("{} is not a launcher's record: {}", path.string(), error.what()));
  }
}

}  // namespace paceline::launcher
