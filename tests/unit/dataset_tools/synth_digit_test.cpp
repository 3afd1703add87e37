#include "paceline/dataset_tools/synth_digit.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

// Pinned, as curves are compared that were drawn on other machines. Other pictures need another
// number and another kDigitVersion of synth.cpp.
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
  EXPECT_EQ(base::xxh3(pixels), 10470947421369830400u);
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

/// The mean of red, green and blue.
std::vector<double> grey_of(const data::Image& image) {
  std::vector<double> grey;
  for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3)
    grey.push_back((image.pixels[i] + image.pixels[i + 1] + image.pixels[i + 2]) / 3.0);
  return grey;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Ink covers less than paper does, so what is far from the mean is ink: below 0 if that is dark.
double skewness_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double cubes = 0;
  double squares = 0;
  for (const double value : values) {
    const double far = value - mean;
    cubes += far * far * far;
    squares += far * far;
  }
  const double count = static_cast<double>(values.size());
  return cubes / count / std::pow(squares / count, 1.5);
}

TEST(Digit, IsDarkerThanThePaperOrLighter) {
  int dark = 0;
  int light = 0;
  for (int index = 0; index < 200; ++index) {
    const double skewness = skewness_of(grey_of(synthesize_digit(index % kNumDigits, 1, index)));
    dark += skewness < -0.5 ? 1 : 0;
    light += skewness > 0.5 ? 1 : 0;
  }
  EXPECT_GT(dark, 60);
  EXPECT_GT(light, 60);
}

/// Of neighbours in the upper edge, which is mostly paper: their differences along rows and along
/// columns.
std::array<double, 2> paper_changes(const data::Image& image) {
  const std::vector<double> grey = grey_of(image);
  std::array<double, 2> changes{};
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column + 1 < kDigitSide; ++column) {
      const double* const at = &grey[row * kDigitSide + column];
      changes[0] += std::abs(at[1] - at[0]);
      changes[1] += std::abs(at[kDigitSide] - at[0]);
    }
  }
  return changes;
}

// Stripes across the rows change along them and little from row to row, and the other way round.
TEST(Digit, LiesOnPaperThatRunsThisWayOrThat) {
  int along_rows = 0;
  int along_columns = 0;
  for (int index = 0; index < 200; ++index) {
    const auto [columns, rows] = paper_changes(synthesize_digit(index % kNumDigits, 1, index));
    along_rows += columns > 1.4 * rows ? 1 : 0;
    along_columns += rows > 1.4 * columns ? 1 : 0;
  }
  EXPECT_GT(along_rows, 20);
  EXPECT_GT(along_columns, 20);
}

using Values = std::vector<double>;

/// The share of pictures, of another seed, that are nearest to their own digit's mean in what
/// `values_of` tells of each. A tenth is what guessing gets.
double share_told_by_means(const std::function<Values(const data::Image&)>& values_of) {
  constexpr int kPictures = 100;
  std::vector<Values> means;
  for (int digit = 0; digit < kNumDigits; ++digit) {
    Values sum = values_of(synthesize_digit(digit, 1, 0));
    for (int index = 1; index < kPictures; ++index) {
      const Values more = values_of(synthesize_digit(digit, 1, index));
      std::transform(sum.begin(), sum.end(), more.begin(), sum.begin(), std::plus<>());
    }
    for (double& value : sum) value /= kPictures;
    means.push_back(sum);
  }
  int right = 0;
  for (int picture = 0; picture < 50 * kNumDigits; ++picture) {
    const Values values = values_of(synthesize_digit(picture % kNumDigits, 2, picture));
    Values distances;
    for (const Values& mean : means) {
      distances.push_back(
          std::transform_reduce(values.begin(), values.end(), mean.begin(), 0.0, std::plus<>(),
                                [](double a, double b) { return (a - b) * (a - b); }));
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    right += nearest == picture % kNumDigits ? 1 : 0;
  }
  return right / (50.0 * kNumDigits);
}

TEST(Digit, IsNotToldByItsMeanLevel) {
  EXPECT_LT(
      share_told_by_means([](const data::Image& image) { return Values{mean_of(grey_of(image))}; }),
      0.16);
}

TEST(Digit, IsNotToldByItsDigitsMeanPicture) { EXPECT_LT(share_told_by_means(grey_of), 0.2); }

TEST(Digit, RefusesWhatIsNone) {
  EXPECT_THROW(synthesize_digit(-1, 1, 0), base::InternalError);
  EXPECT_THROW(synthesize_digit(kNumDigits, 1, 0), base::InternalError);
}

}  // namespace
}  // namespace paceline::dataset_tools
