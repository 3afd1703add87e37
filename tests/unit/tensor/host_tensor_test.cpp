#include "paceline/tensor/host_tensor.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(HostTensor, IsZerosThatOwnTheirMemory) {
  at::Tensor values = host_zeros(5, at::kLong, cpu_device());
  EXPECT_TRUE(values.equal(at::zeros({5}, at::kLong)));
  values.fill_(7);
  EXPECT_EQ(values.sum().item<std::int64_t>(), 35);
  EXPECT_EQ(host_zeros(0, at::kDouble, cpu_device()).numel(), 0);
}

TEST(HostTensor, IsTheTensorItselfWhereThatLiesThere) {
  const at::Tensor values = at::zeros({2, 3});
  fill_on_host(values, [&](const at::Tensor& host) {
    EXPECT_EQ(host.data_ptr(), values.data_ptr());
    host.fill_(4);
  });
  EXPECT_EQ(values.sum().item<float>(), 24);
}

}  // namespace
}  // namespace paceline::tensor
