#include "paceline/tensor/cuda_plugin.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(CudaPlugin, IsLoadedOrSaysWhyNot) {
  const CudaPlugin plugin = load_cuda_plugin();
  EXPECT_EQ(plugin.handle == nullptr, !plugin.reason.empty()) << plugin.reason;
  EXPECT_EQ(load_cuda_plugin().handle, plugin.handle);
}

}  // namespace
}  // namespace paceline::tensor
