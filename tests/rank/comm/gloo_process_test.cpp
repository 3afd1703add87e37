// Ranks as real processes: this binary starts itself again, since nothing may fork once LibTorch
// has threads.

#include "paceline/base/error.h"
#include "paceline/comm/c10d/bootstrap.h"
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
constexpr const char* kNodesVariable = "PACELINE_TEST_NODES";
constexpr const char* kKilledVariable = "PACELINE_TEST_KILLED";
constexpr int kWorldSize = 4;

struct Case {
  int num_nodes = 1;
  int killed = 1;
};

pid_t start_rank(int rank, int port, const Case& of) {
  std::vector<std::string> variables{fmt::format("{}={}", kRankVariable, rank),
                                     fmt::format("{}={}", kPortVariable, port),
                                     fmt::format("{}={}", kNodesVariable, of.num_nodes),
                                     fmt::format("{}={}", kKilledVariable, of.killed)};
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

int number_in(const char* variable) { return std::atoi(std::getenv(variable)); }

/// Not a test of its own: what the ranks that KilledPeerIsNamed starts run.
TEST(GlooProcess, OneRank) {
  if (std::getenv(kRankVariable) == nullptr) {
    GTEST_SKIP() << "run by GlooProcess.KilledPeerIsNamed";
  }
  GroupOptions options;
  options.rank = number_in(kRankVariable);
  options.world_size = kWorldSize;
  options.ranks_per_node = kWorldSize / number_in(kNodesVariable);
  options.master_port = number_in(kPortVariable);
  options.connect_timeout = std::chrono::seconds(60);
  const int killed = number_in(kKilledVariable);
  const auto communicator = connect(options);
  const at::Tensor tensor = at::full({5}, options.rank + 1.0);
  communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
  ASSERT_TRUE(tensor.eq(10.0).all().item<bool>());
  if (options.rank == killed) {
    std::raise(SIGKILL);
  }
  try {
    communicator->barrier();
    FAIL() << "the barrier passed without rank " << killed;
  } catch (const base::CommError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr(fmt::format("rank {} is lost", killed)), HasSubstr("#2 barrier")));
  }
}

// In shared memory, between nodes of two ranks (the one that speaks for its node and the other),
// and between nodes of one.
TEST(GlooProcess, KilledPeerIsNamed) {
  for (const Case& of : {Case{1, 1}, {2, 2}, {2, 3}}) {
    const int port = test::free_port();
    std::vector<pid_t> processes;
    for (int rank = 0; rank < kWorldSize; ++rank) processes.push_back(start_rank(rank, port, of));
    for (int rank = 0; rank < kWorldSize; ++rank) {
      const int status = status_of(processes[static_cast<std::size_t>(rank)]);
      if (rank == of.killed) {
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      } else {
        EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
        EXPECT_EQ(WEXITSTATUS(status), 0)
            << "rank " << rank << " of " << of.num_nodes << " nodes: see its output above";
      }
    }
  }
}

}  // namespace
}  // namespace paceline::comm
