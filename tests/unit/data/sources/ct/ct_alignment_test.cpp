#include "paceline/data/sources/ct/ct_alignment.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/data/ct_files.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr std::int64_t kSize = 32;

/// Two views of a patient, row by row.
using Views = std::span<std::uint16_t>;

class CtAlignmentTest : public ::testing::Test {
 protected:
  CtAlignmentTest() { write(10); }

  void write(std::int64_t patients) {
    files_.sides = {32};
    files_.train = patients;
    files_.write(folder_);
    files_.write_xrays(folder_, "train", patients, kSize);
  }

  /// Writes the X-rays of patients from `first` on anew.
  void change(std::int64_t first, const std::function<void(Views)>& change_views) const {
    const auto path = folder_.path() / "ct/train" / fmt::format("xrays_{}.npy", kSize);
    std::string content = base::read_file(path);
    const std::size_t values = 2 * kSize * kSize;
    const std::size_t header = content.size() - 2 * values * static_cast<std::size_t>(files_.train);
    std::vector<std::uint16_t> all(values * static_cast<std::size_t>(files_.train));
    std::memcpy(all.data(), content.data() + header, 2 * all.size());
    for (auto i = static_cast<std::size_t>(first); i * values < all.size(); ++i)
      change_views(Views(all).subspan(i * values, values));
    std::memcpy(content.data() + header, all.data(), 2 * all.size());
    std::ofstream(path, std::ios::binary) << content;
  }

  AlignmentFacts check(CtConfig config = {.side = 32, .full_scale = 1}) const {
    return check_alignment(CtDataset(folder_.path() / "ct", "train", config, true));
  }
  void expect_refusal(const std::string& what) const {
    EXPECT_THAT([&] { check(); },
                ThrowsMessage<base::DataError>(AllOf(
                    HasSubstr(what), HasSubstr("data.validate_alignment: false"),
                    HasSubstr("patient train0000000000"), HasSubstr("--flip-xrays-vertical"))));
  }

  static void swap_views(Views views) {
    std::ranges::swap_ranges(views.first(kSize * kSize), views.last(kSize * kSize));
  }
  static void mirror(Views view) {
    for (std::size_t row = 0; row < kSize; ++row)
      std::ranges::reverse(view.subspan(row * kSize, kSize));
  }

  paceline::test::TempFolder folder_;
  paceline::test::CtFiles files_;
};

TEST_F(CtAlignmentTest, XraysOfTheVolumesFitThem) {
  const AlignmentFacts facts = check();
  EXPECT_EQ(facts.patients, 10);
  EXPECT_LT(facts.projection_error, 0.06);
  ASSERT_TRUE(facts.truth_loss_share);
  EXPECT_LT(*facts.truth_loss_share, 0.05);
  EXPECT_GT(*facts.truth_loss_share, 0);
}

TEST_F(CtAlignmentTest, SwappedViewsAreNamed) {
  change(0, swap_views);
  expect_refusal("view 1 looks like view 2");
  expect_refusal("view 2 looks like view 1");
  expect_refusal("in 10 of 10 patients");
}

TEST_F(CtAlignmentTest, ASingleViewThatIsMirroredIsNamed) {
  change(0, [](Views views) { mirror(views.last(kSize * kSize)); });
  expect_refusal("view 2 is mirrored left to right (projection error ");
  EXPECT_THAT([&] { check(); }, ThrowsMessage<base::DataError>(Not(HasSubstr("view 1"))));
}

TEST_F(CtAlignmentTest, ViewsUpsideDownAreNamed) {
  change(0, [](Views views) {
    for (const Views view : {views.first(kSize * kSize), views.last(kSize * kSize)}) {
      mirror(view);
      std::ranges::reverse(view);
    }
  });
  expect_refusal("view 1 is upside down");
}

TEST_F(CtAlignmentTest, InvertedViewsAreNamed) {
  change(0, [](Views views) {
    for (std::uint16_t& value : views) value = static_cast<std::uint16_t>(65535 - value);
  });
  expect_refusal("view 1 is bright where it should be dark");
}

TEST_F(CtAlignmentTest, OnePatientOfThoseLookedAtIsEnough) {
  write(66);
  change(64, swap_views);  // the last that is looked at is number 64 of 0 to 65
  expect_refusal("in 1 of 64 patients");
  expect_refusal("patient train000000000064: view 1 looks like view 2");
}

TEST_F(CtAlignmentTest, AnotherBrightnessIsAWarning) {
  change(0, [](Views views) {
    for (std::uint16_t& value : views) value /= 2;
  });
  const AlignmentFacts facts = check();
  EXPECT_NEAR(facts.projection_error, 0.5, 0.05);
  std::vector<std::pair<base::LogLevel, std::string>> lines;
  const base::LogRedirection log([&](base::LogLevel level, std::string_view line) {
    lines.emplace_back(level, std::string(line));
  });
  tell(facts, "set/train");
  tell({.patients = 8, .projection_error = 0.02, .truth_loss_share = 0.001}, "");
  tell({.patients = 1, .projection_error = 0.02}, "");
  tell({}, "");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].first, base::LogLevel::kWarning);
  EXPECT_THAT(lines[0].second,
              AllOf(HasSubstr("10 patients of set/train "), HasSubstr("data.full_scale")));
  EXPECT_EQ(lines[1].first, base::LogLevel::kInfo);
  EXPECT_THAT(lines[1].second, AllOf(HasSubstr("8 patients"), HasSubstr("2 % of their norms"),
                                     HasSubstr("0.1 % of the mean volume's")));
  EXPECT_THAT(lines[2].second, Not(HasSubstr("mean volume")));
}

TEST_F(CtAlignmentTest, APatientThatCannotBeReadIsLeftToTheLoader) {
  const auto path = folder_.path() / "ct/train/volume_32.npy";
  std::string content = base::read_file(path);
  content.back() = static_cast<char>(content.back() ^ 1);
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(check().patients, 9);
  content[content.size() - 2 * 2 * 32 * 32 * 32 + 5] ^= 1;
  content[content.size() - 2 * 32 * 32 * 32 - 100] ^= 1;
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(check().patients, 8);
}

}  // namespace
}  // namespace paceline::data
