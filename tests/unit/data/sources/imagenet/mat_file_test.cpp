#include "paceline/data/sources/imagenet/mat_file.h"

#include "paceline/base/error.h"
#include "support/data/mutations.h"
#include "support/data/test_images.h"

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::uint8_t> golden_mat(const std::string& name) {
  return read_bytes(std::filesystem::path(PACELINE_GOLDEN_DIR) / "imagenet" / name);
}

class GoldenMat : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenMat, HoldsWhatScipyWrote) {
  const auto variables = read_mat_file(golden_mat(GetParam()), "meta.mat");
  ASSERT_TRUE(variables.contains("synsets"));
  const MatArray& synsets = variables.at("synsets");
  EXPECT_THAT(synsets.shape, ElementsAre(6, 1));
  ASSERT_EQ(synsets.fields.size(), 8u);
  const auto of = [&](const char* field, std::size_t row) { return synsets.fields.at(field)[row]; };
  EXPECT_THAT(of("ILSVRC2012_ID", 2).numbers, ElementsAre(3.0));
  EXPECT_EQ(of("WNID", 2).text, "n01440764");
  EXPECT_EQ(of("words", 5).text, "artifact");
  EXPECT_EQ(of("gloss", 0).text, "caf?? au lait");
  EXPECT_THAT(of("num_children", 4).numbers, ElementsAre(3.0));
  EXPECT_THAT(of("children", 4).numbers, ElementsAre(1.0, 2.0, 3.0));
  EXPECT_THAT(variables.at("numbers").shape, ElementsAre(2, 3));
  EXPECT_THAT(variables.at("numbers").numbers, ElementsAre(1, 4, -2, 5, 3, 60000));
  EXPECT_THAT(variables.at("fractions").numbers, ElementsAre(0.5, 1e300));
  ASSERT_EQ(variables.at("cells").cells.size(), 2u);
  EXPECT_EQ(variables.at("cells").cells[0].text, "one");
  EXPECT_THAT(variables.at("cells").cells[1].numbers, ElementsAre(2.0));
}

INSTANTIATE_TEST_SUITE_P(
    Files, GoldenMat, ::testing::Values("meta_compressed.mat", "meta_plain.mat"),
    [](const auto& name) {
      return std::string(name.param).substr(5, std::string(name.param).size() - 9);
    });

TEST(MatFile, RefusesOtherFiles) {
  std::vector<std::uint8_t> bytes = golden_mat("meta_plain.mat");
  bytes.resize(bytes.size() - 100);
  EXPECT_THAT([&] { read_mat_file(bytes, "meta.mat"); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("meta.mat: damaged"), HasSubstr("ends early"))));
  std::swap(bytes[126], bytes[127]);
  EXPECT_THAT([&] { read_mat_file(bytes, "meta.mat"); },
              ThrowsMessage<base::DataError>(HasSubstr("not a little-endian MATLAB file")));
  EXPECT_THROW(read_mat_file({}, "empty"), base::DataError);
}

TEST(MatFileFuzz, GivesADataErrorAtWorst) {
  const std::vector<std::uint8_t> sound = golden_mat("meta_plain.mat");
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string text(sound.begin(), sound.end());
    mutate(text, random);
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    try {
      read_mat_file(bytes, "meta.mat");
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count * 99 / 100);
}

}  // namespace
}  // namespace paceline::data
