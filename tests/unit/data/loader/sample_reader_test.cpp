#include "paceline/data/loader/sample_reader.h"

#include "paceline/base/error.h"
#include "paceline/data/loader/work_slots.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/transforms/named/center_crop.h"
#include "paceline/data/transforms/normalize.h"

#include <array>
#include <new>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kImageSide = 8;

/// Synthetic images, of which the even ones cannot be read, each fourth in a way that nobody
/// expects.
class HalfDamaged final : public Dataset {
 public:
  std::int64_t size() const override { return images_.size(); }
  int num_classes() const override { return images_.num_classes(); }
  std::vector<std::string> class_names() const override { return images_.class_names(); }
  std::int64_t label(std::int64_t index) const override { return images_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override {
    images_.get(index, sample);
    if (index % 2 == 1) return;
    if (index % 8 == 2) throw std::bad_alloc();
    if (index % 8 == 6) throw std::length_error("too long");
    sample.bytes.pop_back();
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
    return reader.read(index, place, *maker_, scratch_,
                       std::array{reinterpret_cast<std::byte*>(pixels_.data()),
                                  reinterpret_cast<std::byte*>(&label_)});
  }

  HalfDamaged dataset_;
  std::shared_ptr<const SampleMaker> maker_ =
      make_images(TransformPipeline({CenterCropConfig{kImageSide}}));
  std::int64_t label_ = -1;  ///< of the sample that was read last
  ReaderScratch scratch_;
  std::vector<float> pixels_ = std::vector<float>(3 * kImageSide * kImageSide, -1.0f);
};

TEST_F(SampleReaderTest, ReadsWhatTheSamplerNames) {
  LoaderOptions options;
  options.seed = 3;
  options.on_error = OnError::kSkip;
  const auto shuffle = make(ShuffleConfig{}, dataset_, 3);
  EXPECT_EQ(SampleReader(dataset_, options).places_per_epoch(), 40);
  for (std::int64_t place = 0; place < 40; ++place) {
    const ReadSample got = read(options, {2, place});
    EXPECT_EQ(got.index % 2, 1);
    EXPECT_EQ(label_, dataset_.label(got.index));
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

TEST_F(SampleReaderTest, AnImageThatTheRecipeLeavesInAnotherSizeIsNotABadOne) {
  const InputSize other{{4, 4}, "first.png", "data.eval_transforms"};
  maker_ = make_images(TransformPipeline({NormalizeConfig{}}, other));
  LoaderOptions options;
  options.is_training = false;
  for (const OnError on_error : {OnError::kFail, OnError::kSkip}) {
    options.on_error = on_error;
    EXPECT_THAT(
        [&] {
          read(options, {0, 3});
        },
        ThrowsMessage<base::ConfigError>(::testing::AllOf(HasSubstr(dataset_.describe(3)),
                                                          HasSubstr("add center_crop"),
                                                          ::testing::Not(HasSubstr("on_error")))));
  }
}

TEST_F(SampleReaderTest, WhateverGoesWrongIsNamed) {
  LoaderOptions options;
  options.is_training = false;
  EXPECT_THAT(
      [&] {
        read(options, {0, 2});
      },
      ThrowsMessage<base::DataError>(HasSubstr("no. 2: there is not enough memory")));
  EXPECT_THAT(
      [&] {
        read(options, {0, 6});
      },
      ThrowsMessage<base::DataError>(HasSubstr("no. 6: too long")));
  options.on_error = OnError::kSkip;
  EXPECT_THAT(read(options, {0, 2}).skipped, ElementsAre(HasSubstr("no. 2: ")));
  EXPECT_EQ(read(options, {0, 3}).index, 3) << "the next one is read by the same scratch";
}

/// A far one, at whose reads another thread takes the only slot and leaves it again.
class FarImages final : public Dataset {
 public:
  explicit FarImages(const WorkSlots& slots) : slots_(slots) {}
  std::int64_t size() const override { return images_.size(); }
  int num_classes() const override { return images_.num_classes(); }
  std::vector<std::string> class_names() const override { return images_.class_names(); }
  std::int64_t label(std::int64_t index) const override { return images_.label(index); }
  bool reads_ahead() const override { return true; }
  void get(std::int64_t index, StoredSample& sample) const override {
    WorkSeat other(slots_, 0);
    const WorkSeat::Hold hold(&other);
    images_.get(index, sample);
  }
  std::string describe(std::int64_t index) const override { return images_.describe(index); }
  std::string fingerprint() const override { return ""; }

 private:
  const WorkSlots& slots_;
  SyntheticDataset images_{40, 4, kImageSide, 0};
};

TEST(SampleReader, WhoWaitsForTheNetworkLeavesItsSlotToOthers) {
  const auto slots = WorkSlots::create(1);
  const FarImages images(*slots);
  const SampleReader reader(images, {.is_training = false});
  WorkSeat seat(*slots, 0);
  ReaderScratch scratch;
  scratch.seat = &seat;
  std::vector<float> pixels(3 * kImageSide * kImageSide);
  std::int64_t label = 0;
  const auto maker = make_images(TransformPipeline({CenterCropConfig{kImageSide}}));
  const WorkSeat::Hold hold(&seat);  // as the loader's thread does
  const ReadSample read = reader.read(5, {0, 5}, *maker, scratch,
                                      std::array{reinterpret_cast<std::byte*>(pixels.data()),
                                                 reinterpret_cast<std::byte*>(&label)});
  EXPECT_EQ(read.index, 5);
}

}  // namespace
}  // namespace paceline::data
