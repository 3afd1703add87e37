#include "paceline/comm/shm/shm_backend.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "rank/comm/collectives_check.h"
#include "rank/comm/connected_ranks.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace paceline::comm {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ShmBackend, AddsTheSameBitsAsGlooOnTwoRanks) {
  GroupOptions shared = test_options(2);
  GroupOptions sockets = test_options(2);
  sockets.shared_memory = false;
  std::vector<at::Tensor> sums(2);
  for (const GroupOptions& options : {shared, sockets}) {
    const auto errors = errors_of(options, [&](const GroupOptions& own) {
      const auto communicator = connect(own);
      const at::Tensor tensor = (at::arange(600'000) + own.rank).sin();
      communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
      communicator->shutdown();
      if (own.rank == 0) sums[options.shared_memory ? 0 : 1] = tensor;
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
  EXPECT_TRUE(sums[0].equal(sums[1]));
}

TEST(ShmBackend, WithoutRoomForItCollectivesGoOverSockets) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit narrow{4096, before.rlim_max};  // stands for a full /dev/shm
  setrlimit(RLIMIT_FSIZE, &narrow);
  const auto errors = errors_of(test_options(3), [](const GroupOptions& options) {
    const auto communicator = connect(options);
    PACELINE_CHECK(communicator->describe().starts_with("gloo over lo"), "is {}",
                   communicator->describe());
    check_collectives(*communicator);
    communicator->shutdown();
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
}  // namespace paceline::comm
