#include "paceline/data/sources/ct/ct_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Config>
std::string ct_problems(const Config& config) {
  config::Problems problems;
  config::Schema<Config>::validate(config, problems);
  return problems.message();
}

TEST(CtConfig, SizesAreReadWithTheirUnits) {
  EXPECT_EQ(parse_byte_size("8GiB"), 8ULL << 30);
  EXPECT_EQ(parse_byte_size("1.5 KiB"), 1536);
  EXPECT_EQ(parse_byte_size("500MB"), 500'000'000);
  EXPECT_EQ(parse_byte_size("2TiB"), 2ULL << 40);
  EXPECT_EQ(parse_byte_size("4096"), 4096);
  for (const char* text : {"", "much", "8 G", "-1GiB", "0", "1e40GiB", "nan", "GiB", "8GiB x"})
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
}

TEST(CtConfig, TheUsualOneIsSound) { EXPECT_THAT(ct_problems(CtConfig{}), IsEmpty()); }

TEST(CtConfig, AReversedWindowIsRefused) {
  EXPECT_THAT(ct_problems(CtConfig{.hu_window = {3000, -1000}}),
              AllOf(HasSubstr("hu_window"), HasSubstr("got [3000, -1000]")));
  EXPECT_THAT(ct_problems(CtConfig{.hu_window = {5, 5}}), HasSubstr("hu_window"));
}

TEST(CtConfig, FilesAreRefusedWherePatientsAreMoved) {
  CtConfig config{.xrays = XraySource::kFiles};
  for (const auto& augmentation : std::initializer_list<CtAugmentationConfig>{
           {.flip = true}, {.turn_degrees = 5}, {.shift_mm = 5}, {.scale = {0.9, 1}}}) {
    config.augment = augmentation;
    EXPECT_THAT(ct_problems(config), AllOf(HasSubstr("xrays"), HasSubstr("write projected")));
  }
  config.augment = {.gain = {0.9, 1.1}, .photons = 1e5};
  EXPECT_THAT(ct_problems(config), IsEmpty());
}

TEST(CtConfig, AConeHasTwoDistances) {
  EXPECT_THAT(ct_problems(CtGeometryConfig{.source_to_isocentre_mm = 1000}),
              HasSubstr("needs source_to_detector_mm, too"));
  EXPECT_THAT(ct_problems(CtGeometryConfig{.source_to_detector_mm = 1500}),
              HasSubstr("needs source_to_isocentre_mm, too"));
  EXPECT_THAT(
      ct_problems(CtGeometryConfig{.source_to_isocentre_mm = 1000, .source_to_detector_mm = 1500}),
      IsEmpty());
}

TEST(CtConfig, RangesBeginWithTheLowest) {
  EXPECT_THAT(ct_problems(CtAugmentationConfig{.scale = {1.1, 0.9}}), HasSubstr("scale"));
  EXPECT_THAT(ct_problems(CtAugmentationConfig{.gain = {1.1, 0.9}}), HasSubstr("gain"));
}

TEST(CtConfig, ABoundOfTheCacheIsASize) {
  EXPECT_THAT(ct_problems(CtConfig{.cache_in_memory = "lots"}),
              AllOf(HasSubstr("cache_in_memory"), HasSubstr("got \"lots\"")));
}

}  // namespace
}  // namespace paceline::data
