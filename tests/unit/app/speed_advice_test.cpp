#include "paceline/app/speed_advice.h"

#include "paceline/train/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SpeedAdvice : public ::testing::Test {
 protected:
  std::vector<std::string> lines(const train::SpeedReport& speed) const {
    return describe_speed(speed, recipe_, "images", late_, tensor::cpu_device());
  }

  Recipe recipe_;
  std::vector<std::string> late_;
};

TEST_F(SpeedAdvice, NothingIsKnownOfARunWithoutSteps) { EXPECT_THAT(lines({}), IsEmpty()); }

TEST_F(SpeedAdvice, TellsTheSharesAndCuresTheLargerOne) {
  EXPECT_THAT(lines({10, 60, 1234.4, 0.31, 0.2, data::LoaderStage::kDecode}),
              ElementsAre(AllOf(HasSubstr("1,234 images/s"), HasSubstr("31 % of the time waiting "
                                                                       "for data, 20 % for "
                                                                       "communication")),
                          AllOf(HasSubstr("decoding limits the loader"),
                                HasSubstr("data pack --mode coefficients"))));
  EXPECT_THAT(lines({10, 60, 1e3, 0.2, 0.31})[1], HasSubstr("parallel.ddp.compression=bf16"));
  recipe_.parallel.ddp.compression = parallel::Compression::kBFloat16;
  EXPECT_THAT(lines({10, 60, 1e3, 0.2, 0.31})[1], HasSubstr("train.grad_accum_steps"));
  late_ = {"fc.weight"};
  EXPECT_THAT(lines({10, 60, 1e3, 0.2, 0.31})[1],
              HasSubstr("put fc.weight, whose gradients come late"));
  late_.clear();
  recipe_.parallel.strategy = ParallelStrategy::kFsdp;
  EXPECT_THAT(lines({10, 60, 1e3, 0.2, 0.31})[1], HasSubstr("parallel.strategy=zero1"));
}

TEST_F(SpeedAdvice, AShortRunGetsNone) { EXPECT_EQ(lines({10, 4, 1e3, 0.31, 0.2}).size(), 1u); }

TEST_F(SpeedAdvice, OfARunThatComputesAllTheTime) {
  recipe_.train.precision = train::choose_precision(train::Precision::kAuto, at::kCPU).precision;
  EXPECT_EQ(lines({10, 60, 1e3, 0.01, 0.02}).size(), 1u);
  recipe_.train.channels_last = false;
  EXPECT_THAT(lines({10, 60, 1e3, 0.01, 0.02})[1], HasSubstr("train.channels_last=true"));
}

}  // namespace
}  // namespace paceline::app
