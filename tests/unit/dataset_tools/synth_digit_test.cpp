#include "paceline/dataset_tools/synth_digit.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

// Pinned, as curves are compared that were drawn on other machines. Other pictures need another
// number and another kPictureVersion of synth.cpp.
TEST(Digit, PixelsAreTheSameOnEveryMachine) {
  std::string pixels;
  for (int digit = 0; digit < kNumDigits; ++digit) {
    for (int index = 0; index < 5; ++index) {
      const data::Image image = synthesize_digit(digit, 1, index);
      EXPECT_EQ(image.width, kDigitSide);
      EXPECT_EQ(image.height, kDigitSide);
      pixels.append(image.pixels.begin(), image.pixels.end());
    }
  }
  EXPECT_EQ(pixels.size(), 50u * kDigitSide * kDigitSide * 3);
  EXPECT_EQ(base::xxh3(pixels), 1978254602185593195u);
}

TEST(Digit, DiffersByDigitSeedAndIndex) {
  std::set<std::vector<std::uint8_t>> pictures;
  for (int digit = 0; digit < kNumDigits; ++digit) {
    for (const std::uint64_t seed : {1, 2}) {
      for (int index = 0; index < 3; ++index)
        pictures.insert(synthesize_digit(digit, seed, index).pixels);
    }
  }
  EXPECT_EQ(pictures.size(), 60u);
}

TEST(Digit, RefusesWhatIsNone) {
  EXPECT_THROW(synthesize_digit(-1, 1, 0), base::InternalError);
  EXPECT_THROW(synthesize_digit(kNumDigits, 1, 0), base::InternalError);
}

}  // namespace
}  // namespace paceline::dataset_tools
