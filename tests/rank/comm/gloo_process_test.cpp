// Ranks as real processes: this binary starts itself again, since nothing may fork once LibTorch
// has threads.

#include "paceline/base/error.h"
#include "paceline/comm/bootstrap.h"
#include "paceline/tensor/aten.h"
#include "support/free_port.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kRankVariable = "PACELINE_TEST_RANK";
constexpr const char* kPortVariable = "PACELINE_TEST_PORT";
constexpr int kWorldSize = 2;

pid_t start_rank(int rank, int port) {
  std::vector<std::string> variables{fmt::format("{}={}", kRankVariable, rank),
                                     fmt::format("{}={}", kPortVariable, port)};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  std::vector<std::string> arguments{"comm_test", "--gtest_filter=GlooProcess.OneRank"};
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) {
      result.push_back(text.data());
    }
    result.push_back(nullptr);
    return result;
  };
  pid_t process = 0;
  if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(),
                  pointers(variables).data()) != 0) {
    throw std::runtime_error("cannot start a rank");
  }
  return process;
}

int status_of(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return status;
}

/// Not a test of its own: what the ranks that KilledPeerIsNamed starts run.
TEST(GlooProcess, OneRank) {
  const char* rank = std::getenv(kRankVariable);
  if (rank == nullptr) {
    GTEST_SKIP() << "run by GlooProcess.KilledPeerIsNamed";
  }
  GroupOptions options;
  options.rank = std::atoi(rank);
  options.world_size = kWorldSize;
  options.master_port = std::atoi(std::getenv(kPortVariable));
  options.connect_timeout = std::chrono::seconds(60);
  const auto communicator = connect(options);
  const at::Tensor tensor = at::full({5}, options.rank + 1.0);
  communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
  ASSERT_TRUE(tensor.eq(3.0).all().item<bool>());
  if (options.rank == 1) {
    std::raise(SIGKILL);
  }
  try {
    communicator->barrier();
    FAIL() << "the barrier passed without rank 1";
  } catch (const base::CommError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 1 is lost"), HasSubstr("#2 barrier")));
  }
}

TEST(GlooProcess, KilledPeerIsNamed) {
  const int port = test::free_port();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < kWorldSize; ++rank) {
    processes.push_back(start_rank(rank, port));
  }
  const int survivor = status_of(processes[0]);
  const int killed = status_of(processes[1]);
  EXPECT_TRUE(WIFEXITED(survivor)) << "killed by signal " << WTERMSIG(survivor);
  EXPECT_EQ(WEXITSTATUS(survivor), 0) << "rank 0's checks failed: see its output above";
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL);
}

}  // namespace
}  // namespace paceline::comm
