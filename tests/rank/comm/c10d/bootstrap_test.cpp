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
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Connect, TheRankThatServesTheStoreNeedsThreeDescriptorsForEachOther) {
  GroupOptions options = test_options(1000);
  EXPECT_EQ(descriptors_needed(options), 999 + 2 + 2000);
  options.serves_store = false;
  EXPECT_EQ(descriptors_needed(options), 999 + 2);
  options.serves_store = true;
  options.rank = 1;
  EXPECT_EQ(descriptors_needed(options), 999 + 2);
  EXPECT_EQ(descriptors_needed(GroupOptions()), 0) << "a world of one opens no socket";
}

TEST(Connect, CountsTheDescriptorsThatItTakes) {
  const auto count = [] {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
  };
  GroupOptions group = test_options(4);
  group.shared_memory = false;
  const auto before = count();
  std::ptrdiff_t needed = 0;
  for (group.rank = 0; group.rank < 4; ++group.rank) needed += descriptors_needed(group);
  std::barrier all_are_connected(4);
  const auto errors = errors_of(group, [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    all_are_connected.arrive_and_wait();
    if (options.rank == 0) {
      EXPECT_LE(count() - before, needed + 4 * 8) << "each rank has some for its event loops";
      EXPECT_GE(count() - before, needed);
    }
    all_are_connected.arrive_and_wait();
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
