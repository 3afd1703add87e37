#include "paceline/dataset_tools/prepare/known_sets.h"

#include "paceline/base/error.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::HasSubstr;

TEST(KnownSets, AreSoundEach) {
  std::set<std::string> names;
  for (const KnownSet& set : known_sets()) {
    EXPECT_TRUE(names.insert(set.name).second);
    EXPECT_EQ(&known_set(set.name), &set);
    for (const ExpectedCounts& counts : {set.train, set.val}) {
      EXPECT_LE(counts.fewest_per_class * set.classes, counts.samples) << set.name;
      EXPECT_GE(counts.most_per_class * set.classes, counts.samples) << set.name;
    }
    bool has_urls = true;
    for (const PublishedFile& file : set.files) {
      EXPECT_TRUE(file.md5.size() == 32 || (file.md5.empty() && file.is_alternative)) << file.name;
      has_urls = has_urls && !file.url.empty();
      EXPECT_TRUE(file.url.empty() || file.url.ends_with("/" + file.name));
    }
    EXPECT_NE(has_urls, !set.how_to_get.empty()) << set.name;
    EXPECT_TRUE(set.folder_in_archive.empty() || set.files.size() == 1) << set.name;
  }
}

TEST(KnownSets, AnUnknownNameGetsTheNearest) {
  try {
    known_set("imagenete");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("imagenet, imagenette, imagenette-320, imagenette-160"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean imagenet"));
  }
}

/// Has 3 classes of `sizes` samples.
class Labels final : public data::Dataset {
 public:
  explicit Labels(const std::vector<int>& sizes) : classes_(static_cast<int>(sizes.size())) {
    for (int i = 0; i < classes_; ++i)
      labels_.insert(labels_.end(), static_cast<std::size_t>(sizes[static_cast<std::size_t>(i)]),
                     i);
  }
  std::int64_t size() const override { return std::ssize(labels_); }
  int num_classes() const override { return classes_; }
  std::vector<std::string> class_names() const override {
    std::vector<std::string> names;
    for (int i = 0; i < classes_; ++i) names.push_back("n" + std::to_string(i));
    return names;
  }
  std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }
  void get(std::int64_t, data::StoredSample&) const override {}
  std::string describe(std::int64_t) const override { return {}; }
  std::string fingerprint() const override { return {}; }

 private:
  int classes_;
  std::vector<std::int64_t> labels_;
};

std::string count_problem(const std::vector<int>& sizes) {
  const KnownSet set{.name = "three", .classes = 3};
  try {
    check_counts(Labels(sizes), set, {9, 2, 4}, "train");
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

TEST(CheckCounts, TakesWhatWasPublished) {
  EXPECT_EQ(count_problem({3, 3, 3}), "");
  EXPECT_EQ(count_problem({2, 3, 4}), "");
}

TEST(CheckCounts, SaysWhatIsMissingOrTooMuch) {
  EXPECT_THAT(count_problem({3, 6}), HasSubstr("the train part of three: 2 classes, expected 3;"));
  EXPECT_THAT(count_problem({3, 3, 2}), HasSubstr("8 images, expected 9; get"));
  EXPECT_THAT(count_problem({1, 5, 3}),
              HasSubstr("9 images, expected 9; n0 has 1, n1 has 5, expected 2 to 4 in a class"));
}

}  // namespace
}  // namespace paceline::dataset_tools
