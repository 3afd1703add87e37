#include "paceline/launch/machine.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <algorithm>
#include <fstream>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

int affinity_count() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  return CPU_COUNT(&mask);
}

TEST(AvailableCoresTest, WithoutQuotaTheAffinityMaskCounts) {
  const base::TempDir root;
  EXPECT_EQ(available_cores(root.path()), affinity_count());
  write_text(root.path() / "proc/self/cgroup", "0::/a/b\n");
  write_text(root.path() / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(available_cores(root.path()), affinity_count());
}

TEST(AvailableCoresTest, TheTightestQuotaOfTheAncestorsCounts) {
  const base::TempDir root;
  write_text(root.path() / "proc/self/cgroup", "0::/a/b\n");
  write_text(root.path() / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  write_text(root.path() / "sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  EXPECT_EQ(available_cores(root.path()), 1);
}

TEST(AvailableCoresTest, AFractionOfACoreIsOne) {
  const base::TempDir root;
  write_text(root.path() / "proc/self/cgroup", "0::/host/only\n");
  write_text(root.path() / "sys/fs/cgroup/cpu.max", "30000 100000\n");
  EXPECT_EQ(available_cores(root.path()), 1);
}

TEST(AvailableCoresTest, VersionOne) {
  const base::TempDir root;
  write_text(root.path() / "proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c\n");
  write_text(root.path() / "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "150000\n");
  write_text(root.path() / "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(available_cores(root.path()), 1);
  write_text(root.path() / "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(available_cores(root.path()), affinity_count());
}

TEST(VisibleGpusTest, CountsAsCudaDoes) {
  const base::TempDir root;
  const auto gpus = [&](std::map<std::string, std::string, std::less<>> variables) {
    return visible_gpus(Environment(std::move(variables)), root.path());
  };
  EXPECT_EQ(gpus({}), 0);
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "0,1"}}), 0) << "no device, whatever the variable says";
  for (const char* name : {"nvidia0", "nvidia1", "nvidia2", "nvidia10", "nvidiactl", "nvidia-uvm"})
    write_text(root.path() / "dev" / name, "");
  EXPECT_EQ(gpus({}), 4);
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", ""}}), 0);
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "-1"}}), 0);
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}), 0);
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "2, 0"}}), 2);
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "0,9,1"}}), 1) << "the list ends at an invalid entry";
  EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "GPU-1a,MIG-2b,GPU-3c"}}), 3);
}

TEST(ReservedPortTest, AServerWithReuseMayListenOthersMayNot) {
  const ReservedPort port;
  EXPECT_GT(port.number(), 0);
  const ReservedPort other;
  EXPECT_NE(port.number(), other.number());

  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port.number()));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  const int plain = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_NE(bind(plain, generic, sizeof address), 0);
  close(plain);

  EXPECT_NO_THROW(require_free_port(port.number(), "test"));
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ASSERT_EQ(bind(server, generic, sizeof address), 0);
  ASSERT_EQ(listen(server, 1), 0);
  try {
    require_free_port(port.number(), "from MASTER_PORT");
    ADD_FAILURE() << "a listening server was not noticed";
  } catch (const base::CommError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(std::to_string(port.number())),
                                             testing::HasSubstr("from MASTER_PORT")));
  }
  close(server);
}

TEST(DescriptorLimitTest, IsRaisedToWhatTheSystemAllows) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit lower{std::min<rlim_t>(before.rlim_cur, 100), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &lower);
  raise_descriptor_limit();
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace paceline::launch
