#include "paceline/comm/c10d/bootstrap.h"

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/endpoint.h"
#include "paceline/comm/gloo/listeners.h"
#include "paceline/tensor/aten.h"
#include "rank/comm/collectives_check.h"
#include "rank/comm/connected_ranks.h"

#include <barrier>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(Connect, CollectivesEqualTorchArithmeticThroughSharedMemoryAndSockets) {
  for (const int world_size : {2, 3, 4}) {
    for (const bool shared_memory : {true, false}) {
      GroupOptions group = test_options(world_size);
      group.shared_memory = shared_memory;
      EXPECT_THAT(errors_of(group,
                            [](const GroupOptions& options) {
                              const auto communicator = connect(options);
                              check_collectives(*communicator);
                              communicator->shutdown();
                            }),
                  Each(IsEmpty()));
    }
  }
}

TEST(Connect, DescribesBackendInterfaceAndStore) {
  const GroupOptions options = test_options(2);
  EXPECT_THAT(errors_of(options,
                        [](const GroupOptions& own) {
                          const auto communicator = connect(own);
                          EXPECT_EQ(communicator->describe(),
                                    fmt::format("shared memory over lo (127.0.0.1), "
                                                "store 127.0.0.1:{}",
                                                own.master_port));
                          communicator->shutdown();
                        }),
              Each(IsEmpty()));
}

TEST(Connect, AWorldOfOneOpensNoSocket) {
  GroupOptions options = test_options(1);
  bool is_narrow = false;
  const Socket holder =
      listen_on("127.0.0.1", static_cast<std::uint16_t>(options.master_port), is_narrow);
  const auto communicator = connect(options);
  EXPECT_EQ(communicator->backend(), "local");
  check_collectives(*communicator);
}

TEST(Connect, ANodesFirstRankAloneNeedsDescriptorsForOtherNodes) {
  GroupOptions options = test_options(1000);
  options.num_nodes = 125;
  EXPECT_EQ(descriptors_needed(options), 124 + 1 + 2 * (1 + 1000)) << "it serves the store";
  options.serves_store = false;
  EXPECT_EQ(descriptors_needed(options), 124 + 1 + 2);
  options.rank = 1;
  EXPECT_EQ(descriptors_needed(options), 1 + 2);
  options.rank = 8;
  EXPECT_EQ(descriptors_needed(options), 124 + 1 + 2);
  options.num_nodes = 1;
  EXPECT_EQ(descriptors_needed(options), 1 + 2);
  options.num_nodes = 3;
  EXPECT_EQ(descriptors_needed(options), 999 + 2) << "nodes of different sizes share no memory";
  options.num_nodes = 125;
  options.shared_memory = false;
  EXPECT_EQ(descriptors_needed(options), 999 + 2);
  EXPECT_EQ(descriptors_needed(GroupOptions()), 0) << "a world of one opens no socket";
}

// As HSDP has them: shards on each node, and replicas of them on all.
TEST(Connect, APartOfTheGroupNeedsDescriptorsForItsOwnNodes) {
  GroupOptions options = test_options(1000);
  options.num_nodes = 125;
  options.rank = 9;
  const std::vector<int> shards{8, 9, 10, 11, 12, 13, 14, 15};
  std::vector<int> replicas;
  for (int rank = 1; rank < 1000; rank += 8) replicas.push_back(rank);
  EXPECT_EQ(descriptors_needed(options, shards), 1 + 1);
  EXPECT_EQ(descriptors_needed(options, replicas), 124 + 1);
  options.rank = 0;
  const std::vector<int> own{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(descriptors_needed(options, own), 1 + 1 + 1000) << "it serves the store";
}

int count_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

/// Once nothing closes any more of what earlier groups had open.
int count_descriptors_at_rest() {
  constexpr int kNumAlike = 10;
  int count = count_descriptors();
  int num_alike = 1;
  while (num_alike < kNumAlike) {
    std::this_thread::sleep_for(milliseconds(10));
    const int now = count_descriptors();
    num_alike = now == count ? num_alike + 1 : 1;
    count = now;
  }
  return count;
}

/// Connects four ranks and expects that they take as many descriptors as they say, and as many as
/// their parts say, which the ranks of equal `colors` make.
void check_descriptors(GroupOptions group, const std::vector<int>& colors) {
  group.world_size = 4;
  group.master_port = test::free_port();
  const int before = count_descriptors_at_rest();
  int needed = 0;
  for (group.rank = 0; group.rank < 4; ++group.rank) needed += descriptors_needed(group);
  int needed_by_parts = 0;
  for (group.rank = 0; group.rank < 4; ++group.rank) {
    std::vector<int> members;
    for (int rank = 0; rank < 4; ++rank) {
      const auto color = [&](int of) { return colors[static_cast<std::size_t>(of)]; };
      if (color(rank) == color(group.rank)) members.push_back(rank);
    }
    needed_by_parts += descriptors_needed(group, members);
  }
  std::barrier all_are_here(4);
  const auto expect_taken = [&](int rank, int earlier, int expected) {
    constexpr int kEventLoops = 4 * 8;
    all_are_here.arrive_and_wait();
    const int taken = rank == 0 ? count_descriptors() - earlier : expected;
    all_are_here.arrive_and_wait();
    EXPECT_GE(taken, expected);
    EXPECT_LE(taken, expected + kEventLoops);
    return taken;
  };
  const auto errors = errors_of(group, [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    const int taken = expect_taken(options.rank, before, needed);
    const auto part = communicator->split(colors[static_cast<std::size_t>(options.rank)]);
    expect_taken(options.rank, before + taken, needed_by_parts);
    communicator->shutdown();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Connect, CountsTheDescriptorsThatItTakes) {
  GroupOptions group = test_options(4);
  group.shared_memory = false;
  check_descriptors(group, {0, 0, 1, 1});
  group.shared_memory = true;
  check_descriptors(group, {0, 0, 1, 1});
  group.ranks_per_node = 2;
  check_descriptors(group, {0, 0, 1, 1});
  check_descriptors(group, {0, 1, 0, 1});
}

// At the limit Gloo would end the process.
TEST(Connect, APartForWhichThereAreTooFewDescriptorsIsRefused) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  std::barrier all_are_here(4);
  count_descriptors_at_rest();  // what earlier groups still close would make room
  const auto errors = errors_of(test_options(4), [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    all_are_here.arrive_and_wait();
    if (options.rank == 0) {
      const rlimit lower{static_cast<rlim_t>(count_descriptors()), before.rlim_max};
      setrlimit(RLIMIT_NOFILE, &lower);
    }
    all_are_here.arrive_and_wait();
    EXPECT_THAT([&] { communicator->split(options.rank / 2); },
                ThrowsMessage<base::ConfigError>(HasSubstr("ulimit -n")));
    all_are_here.arrive_and_wait();
    if (options.rank == 0) setrlimit(RLIMIT_NOFILE, &before);
    all_are_here.arrive_and_wait();
    communicator->shutdown();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(Connect, RefusesOptionsThatCannotWork) {
  const auto with = [](auto change) {
    return [change] {
      GroupOptions options = test_options(2);
      change(options);
      connect(options);
    };
  };
  EXPECT_THAT(with([](GroupOptions& options) { options.rank = 2; }),
              ThrowsMessage<base::ConfigError>(HasSubstr("RANK is 2; with WORLD_SIZE 2")));
  EXPECT_THAT(with([](GroupOptions& options) { options.world_size = 0; }),
              ThrowsMessage<base::ConfigError>(HasSubstr("WORLD_SIZE is 0")));
  EXPECT_THAT(with([](GroupOptions& options) { options.master_port = 70000; }),
              ThrowsMessage<base::ConfigError>(HasSubstr("MASTER_PORT is 70000")));
  EXPECT_THAT(with([](GroupOptions& options) { options.device = "cuda:x"; }),
              ThrowsMessage<base::ConfigError>(HasSubstr("'cuda:x'")));
  EXPECT_THAT(with([](GroupOptions& options) { options.interface = "eth77"; }),
              ThrowsMessage<base::ConfigError>(HasSubstr("eth77")));
}

TEST(Connect, NamesAPortInUse) {
  GroupOptions options = test_options(2);
  bool is_narrow = false;
  const Socket holder =
      listen_on("127.0.0.1", static_cast<std::uint16_t>(options.master_port), is_narrow);
  EXPECT_THAT([&] { connect(options); },
              ThrowsMessage<base::CommError>(AllOf(
                  HasSubstr(fmt::format("port {}", options.master_port)), HasSubstr("in use"))));
}

TEST(Connect, GivesUpOnAStrangerThatStaysSilent) {
  GroupOptions options = test_options(2);
  options.rank = 1;
  options.connect_timeout = milliseconds(300);
  bool is_narrow = false;
  const Socket stranger =
      listen_on("127.0.0.1", static_cast<std::uint16_t>(options.master_port), is_narrow);
  EXPECT_THAT([&] { connect(options); },
              ThrowsMessage<base::CommError>(HasSubstr("is not the store of a run")));
}

TEST(Connect, AnInterruptionEndsEveryWaitOfTheMeeting) {
  base::Interruption interruption;
  interruption.request(SIGTERM, std::chrono::hours(1));
  GroupOptions options = test_options(2);
  options.connect_timeout = std::chrono::minutes(10);
  options.interruption = &interruption;
  const auto is_stopped = ThrowsMessage<base::Interrupted>(
      HasSubstr("stopped by SIGTERM while waiting for the other ranks at 127.0.0.1:"));
  EXPECT_THAT([&] { connect(options); }, is_stopped) << "rank 1 does not come";
  options = test_options(2);
  options.interruption = &interruption;
  options.connect_timeout = std::chrono::minutes(10);
  options.rank = 1;
  EXPECT_THAT([&] { connect(options); }, is_stopped) << "nobody serves the store";
  bool is_narrow = false;
  const Socket stranger =
      listen_on("127.0.0.1", static_cast<std::uint16_t>(options.master_port), is_narrow);
  EXPECT_THAT([&] { connect(options); }, is_stopped) << "a stranger is silent";
}

TEST(Connect, AcceptsNoConnectionOnceAllRanksAreThere) {
  const auto before = listening_sockets();
  std::set<int> meanwhile;
  GroupOptions group = test_options(2);
  group.ranks_per_node = 1;  // or there would be no Gloo
  const auto errors = errors_of(group, [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    communicator->barrier();
    if (options.rank == 0) meanwhile = listening_sockets();
    communicator->barrier();
    communicator->split(0)->barrier();
    if (options.rank == 0) {
      EXPECT_EQ(listening_sockets(), meanwhile);
    }
    communicator->barrier();
    communicator->shutdown();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_EQ(meanwhile.size(), before.size() + 1) << "the store's alone";
}

TEST(Connect, NamesAMasterThatCannotBeReached) {
  GroupOptions options = test_options(2);
  options.rank = 1;
  options.connect_timeout = milliseconds(100);
  EXPECT_THAT([&] { connect(options); }, ThrowsMessage<base::CommError>(HasSubstr(fmt::format(
                                             "127.0.0.1:{} within 0.1 s", options.master_port))));
}

TEST(Connect, NamesTheRanksThatAreMissing) {
  GroupOptions options = test_options(4);
  options.connect_timeout = milliseconds(400);
  const auto errors = errors_of(options, [](const GroupOptions& own) {
    if (own.rank % 2 == 0) {
      connect(own);
    }
  });
  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("2 of 4 ranks came within 0.4 s"), HasSubstr("missing: rank 1, 3.")));
  EXPECT_NE(errors[2], "");
}

TEST(Connect, ARunWithAnotherIdDoesNotCount) {
  GroupOptions options = test_options(2);
  options.connect_timeout = milliseconds(400);
  const auto errors = errors_of(options, [](const GroupOptions& own) {
    GroupOptions changed = own;
    changed.run_id = fmt::format("run of rank {}", own.rank);
    connect(changed);
  });
  EXPECT_THAT(errors[0], HasSubstr("missing: rank 1."));
  EXPECT_NE(errors[1], "");
}

TEST(Connect, NamesARankThatIsThereTwice) {
  GroupOptions options = test_options(3);
  options.connect_timeout = milliseconds(500);
  const auto errors = errors_of(options, [](const GroupOptions& own) {
    GroupOptions changed = own;
    changed.rank = own.rank == 2 ? 1 : own.rank;
    connect(changed);
  });
  EXPECT_THAT(errors[0], HasSubstr("missing: rank 2."));
  EXPECT_THAT(errors[1] + errors[2], HasSubstr("another process has joined as rank 1"));
}

TEST(Connect, NamesAWorldSizeThatDiffers) {
  GroupOptions options = test_options(2);
  options.connect_timeout = milliseconds(400);
  const auto errors = errors_of(options, [](const GroupOptions& own) {
    GroupOptions changed = own;
    changed.world_size = own.rank == 0 ? 2 : 5;
    connect(changed);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 1 was started with WORLD_SIZE 5, rank 0 with 2")))
      << "a rank that is refused tells the others why";
}

}  // namespace
}  // namespace paceline::comm
