#include "paceline/comm/c10d/rendezvous.h"

#include "paceline/comm/c10d/run_store.h"
#include "rank/comm/connected_ranks.h"
#include "support/counting_store.h"

#include <array>
#include <bit>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

c10::intrusive_ptr<RunStore> view_of(const test::CountedStores& stores, int rank) {
  return c10::make_intrusive<RunStore>(stores.of(rank), "an id");
}

// LibTorch's sockets ask for it at every connection.
TEST(Rendezvous, AsksNoNameServerForThePeersNames) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::array<char, NI_MAXHOST> host{};
  const auto found_by_libraries =
      reinterpret_cast<decltype(&getnameinfo)>(dlsym(RTLD_DEFAULT, "getnameinfo"));
  const auto* address = reinterpret_cast<const sockaddr*>(&loopback);
  ASSERT_EQ(found_by_libraries(address, sizeof loopback, host.data(), host.size(), nullptr, 0, 0),
            0);
  EXPECT_STREQ(host.data(), "127.0.0.1");
}

TEST(Join, ManyRanksMeetWithFewOperationsEach) {
  GroupOptions options = test_options(300);
  options.connect_timeout = std::chrono::minutes(2);
  const test::CountedStores stores(options.world_size);
  const auto errors =
      errors_of(options, [&](const GroupOptions& own) { join(*view_of(stores, own.rank), own); });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_LE(stores.most_operations(), 9);
}

TEST(Join, OneRankFindsOutForAllWhoIsMissing) {
  GroupOptions options = test_options(300);
  options.connect_timeout = std::chrono::seconds(2);
  const test::CountedStores stores(options.world_size);
  const auto errors = errors_of(options, [&](const GroupOptions& own) {
    if (own.rank == 17) return;
    join(*view_of(stores, own.rank), own);
  });
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    if (rank == 17) continue;
    EXPECT_THAT(errors[rank], AllOf(HasSubstr("299 of 300 ranks came within 2 s"),
                                    HasSubstr("missing: rank 17.")));
  }
  EXPECT_LE(stores.most_operations(), 2 * std::bit_width(300U) + 12);
  EXPECT_LE(stores.operations(), 12 * 300);
}

TEST(Join, WithoutRankZeroItAloneIsMissing) {
  GroupOptions options = test_options(3);
  options.connect_timeout = milliseconds(300);
  const test::CountedStores stores(options.world_size);
  const auto errors = errors_of(options, [&](const GroupOptions& own) {
    if (own.rank != 0) join(*view_of(stores, own.rank), own);
  });
  for (const std::size_t rank : {1U, 2U}) {
    EXPECT_THAT(errors[rank], AllOf(HasSubstr("2 of 3 ranks came"), HasSubstr("missing: rank 0.")));
  }
}

TEST(Join, ARefusalEndsTheOthersWaitAtOnce) {
  GroupOptions options = test_options(3);
  options.connect_timeout = std::chrono::minutes(10);
  const test::CountedStores stores(options.world_size);
  const auto errors = errors_of(options, [&](const GroupOptions& own) {
    GroupOptions changed = own;
    if (own.rank == 2) changed.world_size = 4;
    join(*view_of(stores, own.rank), changed);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 2 was started with WORLD_SIZE 4, rank 0 with 3")));
}

/// What three ranks are told of each other's devices.
std::vector<std::string> told_of_devices(const std::function<void(GroupOptions& own)>& change) {
  GroupOptions options = test_options(3);
  options.connect_timeout = std::chrono::minutes(10);
  const test::CountedStores stores(options.world_size);
  return errors_of(options, [&](const GroupOptions& own) {
    GroupOptions changed = own;
    changed.device = fmt::format("cuda:{}", own.rank);
    changed.gpu_uuid = fmt::format("GPU-{}", own.rank);
    change(changed);
    join(*view_of(stores, own.rank), changed);
  });
}

TEST(Join, EachRankHasAGpuOfItsOwn) {
  EXPECT_THAT(told_of_devices([](GroupOptions&) {}), Each(IsEmpty()));
  EXPECT_THAT(told_of_devices([](GroupOptions& own) {
                if (own.rank == 2) own.gpu_uuid = "GPU-1";
              }),
              Each(AllOf(HasSubstr("have the same GPU, GPU-1"), HasSubstr("one rank for each"))));
}

TEST(Join, ARankWithoutGpuEndsAllWithTheReason) {
  for (const int without : {0, 2}) {
    const auto errors = told_of_devices([without](GroupOptions& own) {
      if (own.rank != without) return;
      own.device = "cpu";
      own.why_no_gpu = "no NVIDIA driver";
    });
    EXPECT_THAT(errors, Each(AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("rank 0 has "),
                                   HasSubstr("CUDA_VISIBLE_DEVICES="))));
  }
}

TEST(Join, AGpuThatCannotBeUsedEndsAllWithTheReason) {
  const auto errors = told_of_devices([](GroupOptions& own) {
    if (own.rank == 1) own.device_fault = "this process sees 1 GPUs";
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 1: this process sees 1 GPUs")));
}

}  // namespace
}  // namespace paceline::comm
