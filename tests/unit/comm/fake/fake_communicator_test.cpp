#include "paceline/comm/fake/fake_communicator.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

TEST(FakeCommunicator, BehavesAsIfPeersHeldTheSame) {
  const auto communicator = make_fake_communicator(2, 1000);
  EXPECT_EQ(communicator->rank(), 2);
  EXPECT_EQ(communicator->world_size(), 1000);
  const at::Tensor tensor = at::arange(3);
  communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
  communicator->broadcast(tensor, 7)->wait();
  EXPECT_TRUE(tensor.equal(at::arange(3)));
  const at::Tensor gathered = at::empty({3000}, at::kLong);
  communicator->all_gather(gathered, tensor)->wait();
  EXPECT_TRUE(gathered.equal(at::arange(3).repeat({1000})));
  gathered.fill_(-1).narrow(0, 6, 3).copy_(tensor);
  communicator->all_gather(gathered, gathered.narrow(0, 6, 3))->wait();
  EXPECT_TRUE(gathered.equal(at::arange(3).repeat({1000}))) << "in place";
  const at::Tensor rows = at::empty({1000, 3}, at::kLong);
  communicator->all_gather(rows, tensor.view({1, 3}))->wait();
  EXPECT_TRUE(rows.equal(at::arange(3).repeat({1000, 1})));
  const at::Tensor slice = at::empty({2}, at::kLong);
  communicator->reduce_scatter(slice, at::arange(2000))->wait();
  EXPECT_TRUE(slice.equal(at::arange(4, 6)));
  EXPECT_EQ(communicator->all_gather_text("x").size(), 1000U);
  communicator->barrier();
  communicator->shutdown();
}

TEST(FakeCommunicator, RefusesSlicesOfTheWrongSize) {
  const auto communicator = make_fake_communicator(0, 4);
  EXPECT_THROW(communicator->all_gather(at::empty({7}), at::empty({2})), base::InternalError);
  EXPECT_THROW(make_fake_communicator(4, 4), base::InternalError);
}

}  // namespace
}  // namespace paceline::comm
