#include "paceline/data/loader/sample_reader.h"

#include "paceline/base/error.h"
#include "paceline/data/loader/work_slots.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/normalize.h"

#include <cstring>
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
    scratch_.targets = {reinterpret_cast<std::byte*>(pixels_.data()),
                        reinterpret_cast<std::byte*>(&label_)};
    return reader.read(index, place, *maker_, scratch_);
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

TEST_F(SampleReaderTest, ASampleIsTimedFromTheEndOfTheOneBeforeItUnlessThatWasBad) {
  LoaderOptions options;
  options.is_training = false;
  options.on_error = OnError::kSkip;
  read(options, {0, 1});
  const double end = scratch_.idle_since_s;
  EXPECT_GT(end, 0);
  scratch_.times = {};
  read(options, {0, 3});
  const StageTimes& times = scratch_.times;
  EXPECT_NEAR(times.read_s + times.decode_s + times.transform_s, scratch_.idle_since_s - end, 1e-9);
  read(options, {0, 8});  // a bad one
  EXPECT_EQ(scratch_.idle_since_s, ReaderScratch::kUnknown);
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

/// A maker of samples as an own data set may bring one: its labels are not the data set's.
class ItsOwnLabels final : public SampleMaker {
 public:
  explicit ItsOwnLabels(std::int64_t label) : label_(label) {}
  const std::vector<FieldSpec>& fields() const override { return fields_; }
  EraseSteps make(const StoredSample&, const DrawKey&, TransformScratch&,
                  std::span<std::byte* const> targets) const override {
    std::memcpy(targets[1], &label_, sizeof(label_));
    return {};
  }

 private:
  std::int64_t label_;
  std::vector<FieldSpec> fields_{{.name = "volume", .sizes = {1}},
                                 {.name = "labels", .type = FieldType::kInt64}};
};

/// Writes nothing into fields of any kind.
class SilentMaker final : public SampleMaker {
 public:
  explicit SilentMaker(FieldSpec labels) : fields_{{.name = "volume"}, std::move(labels)} {}
  const std::vector<FieldSpec>& fields() const override { return fields_; }
  EraseSteps make(const StoredSample&, const DrawKey&, TransformScratch&,
                  std::span<std::byte* const>) const override {
    return {};
  }

 private:
  std::vector<FieldSpec> fields_;
};

class WithoutClasses final : public Dataset {
 public:
  std::int64_t size() const override { return 4; }
  void get(std::int64_t, StoredSample&) const override {}
  std::string describe(std::int64_t index) const override { return fmt::format("no. {}", index); }
  std::string fingerprint() const override { return ""; }
};

TEST_F(SampleReaderTest, OnlyOneNumberOfADataSetWithClassesIsALabel) {
  LoaderOptions options;
  options.is_training = false;
  label_ = -1;  // stays there, and is no class
  const FieldSpec label{.name = "labels", .type = FieldType::kInt64};
  FieldSpec of_each_organ = label;
  of_each_organ.sizes = {1};
  FieldSpec score = label;
  score.type = FieldType::kFloat32;
  for (const FieldSpec& other : {of_each_organ, score}) {
    maker_ = std::make_shared<SilentMaker>(other);
    EXPECT_EQ(read(options, {0, 3}).index, 3);
  }
  maker_ = std::make_shared<SilentMaker>(label);
  EXPECT_THROW(read(options, {0, 3}), base::DataError);
  const WithoutClasses unlabelled;
  const ReadSample made = SampleReader(unlabelled, options).read(3, {0, 3}, *maker_, scratch_);
  EXPECT_EQ(made.index, 3);
}

TEST_F(SampleReaderTest, ALabelThatIsNoClassIsToldWithItsSample) {
  LoaderOptions options;
  options.is_training = false;
  for (const std::int64_t label : {std::int64_t{4}, std::int64_t{-1}}) {
    maker_ = std::make_shared<ItsOwnLabels>(label);
    EXPECT_THAT(
        [&] {
          read(options, {0, 3});
        },
        ThrowsMessage<base::DataError>(::testing::AllOf(
            HasSubstr(fmt::format("no. 3: its label is {}, expected 0 to 3", label)),
            HasSubstr("data.on_error"))));
  }
  maker_ = std::make_shared<ItsOwnLabels>(3);
  EXPECT_EQ(read(options, {0, 3}).index, 3);
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
    SlotLease other(slots_, 0);
    const SlotLease::Hold hold(&other);
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
  SlotLease lease(*slots, 0);
  ReaderScratch scratch;
  scratch.lease = &lease;
  std::vector<float> pixels(3 * kImageSide * kImageSide);
  std::int64_t label = 0;
  const auto maker = make_images(TransformPipeline({CenterCropConfig{kImageSide}}));
  const SlotLease::Hold hold(&lease);  // as the loader's thread does
  scratch.targets = {reinterpret_cast<std::byte*>(pixels.data()),
                     reinterpret_cast<std::byte*>(&label)};
  const ReadSample read = reader.read(5, {0, 5}, *maker, scratch);
  EXPECT_EQ(read.index, 5);
}

}  // namespace
}  // namespace paceline::data
