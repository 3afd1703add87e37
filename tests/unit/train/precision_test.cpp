#include "paceline/train/precision.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

/// What is chosen on a CPU whose /proc/cpuinfo has these flags.
PrecisionChoice choice_for(const std::string& flags) {
  const paceline::test::TempFolder root;
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu " + flags +
                                 " sse2\nbugs\t\t:\n\nprocessor\t: 1\nflags\t\t: fpu amx_bf16\n");
  return fastest_on_cpu(root.path());
}

TEST(Precision, TheCpuComputesInWhatItsInstructionsAreFastAt) {
  EXPECT_EQ(choice_for("avx2 avx512f amx_tile amx_bf16").precision, Precision::kBFloat16);
  EXPECT_THAT(choice_for("amx_bf16 avx512_bf16").reason, EndsWith("has AMX"));
  EXPECT_EQ(choice_for("avx512_bf16").precision, Precision::kBFloat16);
  EXPECT_EQ(choice_for("avx2 avx512f avx512_fp16 amx_bf16x").precision, Precision::kFloat32);
  EXPECT_THAT(choice_for("avx2").reason, HasSubstr("neither AMX nor"));
  EXPECT_EQ(fastest_on_cpu("/nowhere").precision, Precision::kFloat32);
}

TEST(Precision, AGpuComputesInBfloat16WhereItCan) {
  EXPECT_EQ(fastest_on_cuda(true).precision, Precision::kBFloat16);
  EXPECT_EQ(fastest_on_cuda(false).precision, Precision::kFloat16);
}

TEST(Precision, OnlyAutoIsResolved) {
  for (const Precision asked :
       {Precision::kFloat32, Precision::kFloat64, Precision::kBFloat16, Precision::kFloat16}) {
    const PrecisionChoice choice = choose_precision(asked, at::kCPU);
    EXPECT_EQ(choice.precision, asked);
    EXPECT_EQ(choice.reason, "");
  }
  const PrecisionChoice choice = choose_precision(Precision::kAuto, at::kCPU);
  EXPECT_NE(choice.precision, Precision::kAuto);
  EXPECT_THAT(choice.reason, Not(""));
}

TEST(Precision, MixedPrecisionKeepsFloat32Weights) {
  EXPECT_EQ(storage_dtype(Precision::kFloat64), at::kDouble);
  EXPECT_EQ(autocast_dtype(Precision::kFloat64), std::nullopt);
  EXPECT_EQ(storage_dtype(Precision::kBFloat16), at::kFloat);
  EXPECT_EQ(autocast_dtype(Precision::kBFloat16), at::kBFloat16);
  EXPECT_EQ(autocast_dtype(Precision::kFloat16), at::kHalf);
  EXPECT_THROW(autocast_dtype(Precision::kAuto), base::InternalError);
}

}  // namespace
}  // namespace paceline::train
