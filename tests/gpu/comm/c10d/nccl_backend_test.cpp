#include "paceline/comm/c10d/nccl_backend.h"

#include "gpu/test_devices.h"
#include "paceline/base/error.h"
#include "paceline/comm/c10d/c10d_communicator.h"
#include "paceline/comm/gloo/gloo_backend.h"
#include "paceline/tensor/aten.h"
#include "rank/comm/connected_ranks.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace paceline::comm {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

/// What rank `rank` holds: small integers, so that sums are exact in every dtype and order.
at::Tensor values_of(int rank, std::int64_t numel, at::ScalarType dtype) {
  return (at::arange(numel) * (rank + 2)).remainder(5).to(dtype);
}

at::Tensor sum_of(int world_size, std::int64_t numel, at::ScalarType dtype) {
  at::Tensor sum = at::zeros({numel}, dtype);
  for (int rank = 0; rank < world_size; ++rank) sum += values_of(rank, numel, dtype);
  return sum;
}

void check_equal(const at::Tensor& actual, const at::Tensor& expected, const char* what) {
  PACELINE_CHECK(actual.cpu().equal(expected), "{} of {} {} elements differs from the CPU's", what,
                 expected.numel(), c10::toString(expected.scalar_type()));
}

void check_sums(Communicator& communicator, at::Device place, std::int64_t numel,
                at::ScalarType dtype) {
  const int ranks = communicator.world_size();
  const at::Tensor own = values_of(communicator.rank(), numel, dtype).to(place);
  std::vector<at::Tensor> held;
  for (int rank = 0; rank < ranks; ++rank) held.push_back(values_of(rank, numel, dtype));
  const at::Tensor all = at::stack(held);
  const std::array<at::Tensor, 3> expected{all.sum(0).to(dtype), all.amin(0), all.amax(0)};
  const std::array<ReduceOp, 3> ops{ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const at::Tensor tensor = own.clone();
    communicator.all_reduce(tensor, ops.at(i), "values")->wait();
    check_equal(tensor, expected.at(i), "all_reduce");
  }
  const at::Tensor output = at::empty({numel}, own.options());
  const at::Tensor input = values_of(communicator.rank(), ranks * numel, dtype).to(place);
  communicator.reduce_scatter(output, input, "slices")->wait();
  check_equal(output,
              sum_of(ranks, ranks * numel, dtype).narrow(0, communicator.rank() * numel, numel),
              "reduce_scatter");
}

void check_moves(Communicator& communicator, at::Device place, std::int64_t numel,
                 at::ScalarType dtype) {
  const at::Tensor own = values_of(communicator.rank(), numel, dtype).to(place);
  std::vector<at::Tensor> held;
  for (int rank = 0; rank < communicator.world_size(); ++rank) {
    held.push_back(values_of(rank, numel, dtype));
    const at::Tensor tensor = own.clone();
    communicator.broadcast(tensor, rank)->wait();
    check_equal(tensor, held.back(), "broadcast");
  }
  const at::Tensor gathered = at::empty({communicator.world_size() * numel}, own.options());
  communicator.all_gather(gathered, own)->wait();
  check_equal(gathered, at::cat(held), "all_gather");
}

void check_collectives(Communicator& communicator, at::Device place) {
  for (const at::ScalarType dtype :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong}) {
    for (const std::int64_t numel : {1, 1025, 1 << 20}) {
      check_sums(communicator, place, numel, dtype);
      check_moves(communicator, place, numel, dtype);
    }
  }
}

/// Runs `body` on one thread and GPU for each of so many ranks; returns what each threw.
std::vector<std::string> errors_of_ranks(
    int world_size, const std::function<void(Communicator&, tensor::Device&)>& body) {
  GroupOptions group = test_options(world_size);
  group.connect_timeout = std::chrono::seconds(60);
  group.timeout = std::chrono::seconds(60);
  return errors_of(group, [&](const GroupOptions& options) {
    const auto device = test::open_device(options.rank);
    const auto communicator = test::connect(options);
    body(*communicator, *device);
    communicator->shutdown();
  });
}

TEST(Nccl, OneRankEqualsTheCpu) {
  if (test::uses_stand_in()) GTEST_SKIP() << "needs NCCL";
  const auto device = test::open_device(0);
  C10dGroupOptions options;
  options.members = {0};
  options.make_backends = [](const auto& store, auto members, int rank) {
    return Backends{make_gloo_backend(c10::make_intrusive<c10d::PrefixStore>("host", store), rank,
                                      1, "127.0.0.1", std::chrono::seconds(20)),
                    make_nccl_backend(c10::make_intrusive<c10d::PrefixStore>("gpu", store), rank,
                                      members, 0, std::chrono::seconds(60), "")};
  };
  const auto store = c10::make_intrusive<c10d::HashStore>();
  Backends backends = options.make_backends(store, options.members, 0);
  const auto communicator = make_c10d_communicator(std::move(backends), store, options);
  check_collectives(*communicator, device->place());
  communicator->shutdown();
}

class NcclRanks : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (test::num_devices() < GetParam())
      GTEST_SKIP() << "this process sees " << test::num_devices() << " GPUs";
  }
};

TEST_P(NcclRanks, CollectivesEqualTheCpu) {
  EXPECT_THAT(errors_of_ranks(GetParam(),
                              [](Communicator& communicator, tensor::Device& device) {
                                check_collectives(communicator, device.place());
                              }),
              Each(IsEmpty()));
}

TEST_P(NcclRanks, TensorsOfTheHostGoBesideThoseOfTheGpu) {
  EXPECT_THAT(errors_of_ranks(GetParam(),
                              [](Communicator& communicator, tensor::Device& device) {
                                for (int i = 0; i < 10; ++i) {
                                  check_sums(communicator, device.place(), 1000, at::kFloat);
                                  check_sums(communicator, at::kCPU, 1000, at::kFloat);
                                }
                              }),
              Each(IsEmpty()));
}

/// A collective waits for what was queued before it, and what is queued after wait() for it.
TEST_P(NcclRanks, CollectivesKeepTheOrderOfTheStream) {
  const auto check = [](Communicator& communicator, tensor::Device& device) {
    const at::TensorOptions floats = at::TensorOptions(device.place()).dtype(at::kFloat);
    const at::Tensor weight = at::eye(512, floats);
    const int ranks = communicator.world_size();
    for (int i = 0; i < 20; ++i) {
      at::Tensor tensor = at::full({512, 512}, i + communicator.rank(), floats);
      for (int k = 0; k < 10; ++k) tensor = at::mm(tensor, weight);
      communicator.all_reduce(tensor, ReduceOp::kSum)->wait();
      const int expected = ranks * i + ranks * (ranks - 1) / 2;
      PACELINE_CHECK((tensor * 2).eq(2 * expected).all().item<bool>(),
                     "all-reduce {} came too early or too late", i);
    }
  };
  EXPECT_THAT(errors_of_ranks(GetParam(), check), Each(IsEmpty()));
}

TEST_P(NcclRanks, PartsOfTheGroupHaveTheirOwnSums) {
  EXPECT_THAT(errors_of_ranks(GetParam(),
                              [](Communicator& communicator, tensor::Device& device) {
                                const int color = communicator.rank() % 2;
                                const auto part = communicator.split(color);
                                check_collectives(*part, device.place());
                              }),
              Each(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Gpus, NcclRanks, ::testing::Values(2, 4, 8));

}  // namespace
}  // namespace paceline::comm
