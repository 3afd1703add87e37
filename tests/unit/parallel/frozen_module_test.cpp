#include "paceline/parallel/frozen_module.h"

#include "paceline/tensor/storage.h"
#include "support/block_net.h"

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

TEST(WholeFrozenModule, FillsWhatHasNoMemoryAndCountsAll) {
  test::BlockNet net;
  std::uint64_t bytes = 0;
  for (const NamedTensor& named : nn::state_dict(net)) bytes += named.tensor.nbytes();
  nn::defer_values(net);
  for (const NamedTensor& named : nn::named_parameters(net)) named.tensor.requires_grad_(false);
  const WholeFrozenModule held(net,
                               [](const NamedTensor& named) { named.tensor.detach().fill_(3); });
  EXPECT_EQ(held.bytes(), bytes);
  for (const NamedTensor& named : nn::named_parameters(net)) {
    ASSERT_TRUE(tensor::has_memory(named.tensor)) << named.name;
    EXPECT_TRUE(named.tensor.eq(3).all().item<bool>()) << named.name;
  }
}

}  // namespace
}  // namespace paceline::parallel
