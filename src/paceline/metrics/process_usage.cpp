#include "paceline/metrics/process_usage.h"

#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace paceline::metrics {
namespace {

/// The fields after the name, which is in parentheses and may hold anything.
std::optional<double> cpu_seconds(const std::filesystem::path& stat_file) {
  std::string text;
  if (std::ifstream file(stat_file); !std::getline(file, text)) return std::nullopt;
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end_of_name + 1));
  constexpr int kFieldsBeforeUserTime = 11;
  std::string skipped;
  for (int i = 0; i < kFieldsBeforeUserTime; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) return std::nullopt;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::optional<ProcessUsage> read_process_usage(int process, const std::filesystem::path& proc) {
  const std::filesystem::path folder = proc / std::to_string(process);
  const auto cpu_s = cpu_seconds(folder / "stat");
  if (!cpu_s) return std::nullopt;
  ProcessUsage usage{.cpu_s = *cpu_s};
  std::ifstream status(folder / "status");
  for (std::string key; status >> key;) {
    std::uint64_t kib = 0;
    if (key == "VmRSS:" && status >> kib) usage.resident_bytes = kib * 1024;
    if (key == "VmHWM:" && status >> kib) usage.peak_resident_bytes = kib * 1024;
    std::getline(status, key);
  }
  return usage;
}

}  // namespace paceline::metrics
