#include "paceline/launch/machine.h"

#include "paceline/base/error.h"
#include "paceline/base/system_limit.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

namespace fs = std::filesystem;

int affinity_cores() {
  // The kernel refuses a mask smaller than its own; machines with more than 1024 CPUs exist.
  for (int cpus = 1024; cpus <= 1 << 16; cpus *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(cpus));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool ok = sched_getaffinity(0, size, mask) == 0;
    const int count = ok ? CPU_COUNT_S(size, mask) : 0;
    CPU_FREE(mask);
    if (ok) return count;
  }
  return 1;
}

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// cpu.max of version 2: "max 100000" or "150000 100000" (microseconds per period).
double quota_v2(const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kNoQuota;
  return std::strtod(quota.c_str(), nullptr) / period;
}

double quota_v1(const fs::path& folder) {
  double quota = -1;
  double period = 0;
  std::ifstream(folder / "cpu.cfs_quota_us") >> quota;
  std::ifstream(folder / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : kNoQuota;
}

/// The tightest quota from the cgroup at `path` up to the mount point. In a container the path may
/// name a folder that only the host sees; the mount point itself is then the container's cgroup.
template <typename ReadQuota>
double tightest_quota(const fs::path& mount, std::string_view path, ReadQuota read_quota) {
  double tightest = kNoQuota;
  for (fs::path folder = mount / fs::path(path).relative_path();; folder = folder.parent_path()) {
    tightest = std::min(tightest, read_quota(folder));
    if (folder == mount || !folder.has_relative_path()) return tightest;
  }
}

/// Lines of /proc/self/cgroup are "hierarchy:controllers:path"; version 2 has no controllers.
double cgroup_quota(const fs::path& root) {
  double tightest = kNoQuota;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      tightest = std::min(tightest, tightest_quota(root / "sys/fs/cgroup", path, quota_v2));
    } else if (const auto names = base::split(controllers, ',');
               std::find(names.begin(), names.end(), "cpu") != names.end()) {
      tightest =
          std::min(tightest, tightest_quota(root / "sys/fs/cgroup" / controllers, path, quota_v1));
    }
  }
  return tightest;
}

int device_files(const fs::path& root) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "dev", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("nvidia") && name.size() > 6 &&
        name.find_first_not_of("0123456789", 6) == std::string::npos)
      ++count;
  }
  return count;
}

bool port_is_taken(int family, const sockaddr* address, socklen_t size) {
  const int probe = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;  // no IPv6 here, say
  const int on = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) setsockopt(probe, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const bool taken =
      (bind(probe, address, size) != 0 || listen(probe, 1) != 0) && errno == EADDRINUSE;
  close(probe);
  return taken;
}

}  // namespace

Machine this_machine(const Environment& environment) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return {.cores = available_cores(), .gpus = visible_gpus(environment), .host_name = name.data()};
}

int available_cores(const fs::path& root) {
  return std::max(1, static_cast<int>(std::min<double>(affinity_cores(), cgroup_quota(root))));
}

int visible_gpus(const Environment& environment, const fs::path& root) {
  const int devices = device_files(root);
  // WSL2 shows its GPUs as one /dev/dxg, which does not tell how many there are.
  const bool is_wsl = devices == 0 && fs::exists(root / "dev/dxg");
  if (devices == 0 && !is_wsl) return 0;
  const auto entries = environment.entries();
  const bool is_set = std::any_of(entries.begin(), entries.end(), [](const std::string& entry) {
    return entry.starts_with("CUDA_VISIBLE_DEVICES=");
  });
  if (!is_set) return std::max(devices, 1);
  int count = 0;
  for (const auto& part : base::split(environment.get_or("CUDA_VISIBLE_DEVICES", ""), ',')) {
    const std::string entry(base::trim(part));
    if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) {
      ++count;
      continue;
    }
    const bool is_index = !entry.empty() && entry.size() < 6 &&
                          entry.find_first_not_of("0123456789") == std::string::npos;
    if (!is_index || (!is_wsl && std::stoi(entry) >= devices)) break;
    ++count;
  }
  return count;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // refused: the lower limit may do
}

ReservedPort::ReservedPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(socket_, generic, size) != 0 || getsockname(socket_, generic, &size) != 0) {
    const int error = errno;
    if (socket_ >= 0) close(socket_);
    const std::string limit = base::limit_behind(error);
    throw base::CommError(fmt::format("no free TCP port on 127.0.0.1 for the ranks' store ({}): {}",
                                      std::strerror(error),
                                      limit.empty() ? "give one with --master-port" : limit));
  }
  number_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() { close(socket_); }

void require_free_port(int port, std::string_view origin) {
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = any4.sin_port;
  if (port_is_taken(AF_INET, reinterpret_cast<const sockaddr*>(&any4), sizeof any4) ||
      port_is_taken(AF_INET6, reinterpret_cast<const sockaddr*>(&any6), sizeof any6))
    throw base::CommError(fmt::format(
        "port {} ({}) is in use on this machine, and rank 0 needs it for the ranks' store: stop "
        "the "
        "program that listens there (`ss -ltnp 'sport = :{}'` shows it) or give another port, the "
        "same on every node",
        port, origin, port));
}

}  // namespace paceline::launch
