#include "paceline/metrics/nvml.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFakeNvml = PACELINE_BINARY_DIR "/lib/libfake_nvml.so";

TEST(Nvml, ReadsWhatTheDriverTells) {
  const Nvml::Opened opened = Nvml::open(kFakeNvml);
  ASSERT_NE(opened.nvml, nullptr) << opened.reason;
  const auto reading = opened.nvml->read("GPU-new");
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->utilization, 0.97);
  EXPECT_EQ(reading->memory_used_bytes, 30ull << 30);
  EXPECT_EQ(reading->memory_total_bytes, 80ull << 30);
  EXPECT_EQ(reading->power_w, 654.321);
  EXPECT_EQ(reading->sm_clock_mhz, 1980);
  EXPECT_EQ(reading->memory_clock_mhz, 3201);
  EXPECT_EQ(reading->temperature_c, 61);
  EXPECT_THAT(reading->throttle_reasons, ElementsAre("sw_power_cap", "hw_thermal_slowdown"));
}

TEST(Nvml, LeavesOutWhatAGpuDoesNotTell) {
  const Nvml::Opened opened = Nvml::open(kFakeNvml);
  ASSERT_NE(opened.nvml, nullptr) << opened.reason;
  const auto reading = opened.nvml->read("GPU-old");
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->utilization, 0.97);
  EXPECT_FALSE(reading->power_w.has_value());
  EXPECT_FALSE(reading->sm_clock_mhz.has_value());
  EXPECT_THAT(reading->throttle_reasons, IsEmpty());
  EXPECT_FALSE(opened.nvml->read("GPU-none").has_value());
}

TEST(Nvml, SaysWhyItIsNotThere) {
  EXPECT_THAT(Nvml::open("libno-such-nvml.so").reason, HasSubstr("libno-such-nvml.so"));
  EXPECT_THAT(Nvml::open("libm.so.6").reason, HasSubstr("has no nvml"));
  setenv("FAKE_NVML_ERROR", "9", 1);
  const Nvml::Opened opened = Nvml::open(kFakeNvml);
  unsetenv("FAKE_NVML_ERROR");
  EXPECT_EQ(opened.nvml, nullptr);
  EXPECT_THAT(opened.reason, HasSubstr("Driver Not Loaded"));
}

}  // namespace
}  // namespace paceline::metrics
