#include "paceline/data/sample_reader.h"

#include "paceline/base/error.h"
#include "paceline/data/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kImageSide = 8;

/// Synthetic images, of which the even ones are cut short.
class HalfDamaged final : public Dataset {
 public:
  std::int64_t size() const override { return images_.size(); }
  int num_classes() const override { return images_.num_classes(); }
  std::vector<std::string> class_names() const override { return images_.class_names(); }
  std::int64_t label(std::int64_t index) const override { return images_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override {
    images_.get(index, sample);
    if (index % 2 == 0) sample.bytes.pop_back();
  }
  std::string describe(std::int64_t index) const override { return fmt::format("no. {}", index); }
  std::string fingerprint() const override { return ""; }

 private:
  SyntheticDataset images_{40, 4, kImageSide, 0};
};

class SampleReaderTest : public ::testing::Test {
 protected:
  ReadSample read(const LoaderOptions& options, const SamplePlace& place) {
    const SampleReader reader(dataset_, options);
    std::int64_t index = 0;
    reader.fill_indices(place, {&index, 1});
    return reader.read(index, place, pipeline_, scratch_, PixelSink{pixels_.data()});
  }

  HalfDamaged dataset_;
  TransformPipeline pipeline_{{CenterCropConfig{kImageSide}}};
  ReaderScratch scratch_;
  std::vector<float> pixels_ = std::vector<float>(3 * kImageSide * kImageSide, -1.0f);
};

TEST_F(SampleReaderTest, ReadsWhatTheSamplerNames) {
  LoaderOptions options;
  options.seed = 3;
  options.on_error = OnError::kSkip;
  const auto shuffle = make_sampler(ShuffleConfig{}, dataset_, 3);
  EXPECT_EQ(SampleReader(dataset_, options).places_per_epoch(), 40);
  for (std::int64_t place = 0; place < 40; ++place) {
    const ReadSample got = read(options, {2, place});
    EXPECT_EQ(got.index % 2, 1);
    EXPECT_EQ(got.label, dataset_.label(got.index));
    if (const std::int64_t drawn = shuffle->at(2, place); drawn % 2 == 1) {
      EXPECT_EQ(got.index, drawn);
      EXPECT_TRUE(got.skipped.empty());
    } else {
      EXPECT_THAT(got.skipped.front(), HasSubstr(fmt::format("no. {}: ", drawn)));
    }
  }
}

TEST_F(SampleReaderTest, EvaluationGoesInOrderAndLeavesBadOnesAlone) {
  LoaderOptions options;
  options.is_training = false;
  options.on_error = OnError::kSkip;
  EXPECT_EQ(read(options, {0, 7}).index, 7);
  pixels_.assign(pixels_.size(), -1.0f);
  EXPECT_THAT(read(options, {0, 8}).skipped, ElementsAre(HasSubstr("no. 8: ")));
  EXPECT_THAT(pixels_, ::testing::Each(-1.0f));
}

TEST_F(SampleReaderTest, ABadOneFailsWithItsPlaceAndTheCure) {
  LoaderOptions options;
  options.is_training = false;
  EXPECT_THAT(
      [&] {
        read(options, {0, 8});
      },
      ThrowsMessage<base::DataError>(
          ::testing::AllOf(HasSubstr("no. 8: "), HasSubstr("data.on_error to skip"))));
}

}  // namespace
}  // namespace paceline::data
