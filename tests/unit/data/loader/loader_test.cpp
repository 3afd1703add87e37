#include "paceline/data/loader/loader.h"

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/data/loader/buffer_pool.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/loader/work_slots.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/random_erasing.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/pipeline.h"
#include "support/image_batch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using test::floats_of;
using test::labels_of;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSide = 8;

/// Raw images whose pixels tell their index; some cannot be read.
class NumberedImages final : public Dataset {
 public:
  explicit NumberedImages(std::int64_t size, std::set<std::int64_t> bad = {})
      : size_(size), bad_(std::move(bad)) {}

  std::int64_t size() const override { return size_; }
  int num_classes() const override { return 1000; }
  std::vector<std::string> class_names() const override { return {}; }
  std::int64_t label(std::int64_t index) const override { return index % 1000; }
  void get(std::int64_t index, StoredSample& sample) const override {
    // Relaxed: it must not order the threads, or ThreadSanitizer would miss races of the loader.
    num_reads.fetch_add(1, std::memory_order_relaxed);
    const int readers = 1 + num_readers.fetch_add(1, std::memory_order_relaxed);
    if (readers > most_readers.load(std::memory_order_relaxed))
      most_readers.store(readers, std::memory_order_relaxed);
    fill(index, sample);
    num_readers.fetch_sub(1, std::memory_order_relaxed);
  }
  void fill(std::int64_t index, StoredSample& sample) const {
    if (read_time.count() > 0) std::this_thread::sleep_for(read_time);
    if (bad_.contains(index)) throw base::DataError("it is cut short");
    if (index == stopped) throw base::Interrupted(SIGTERM, "waiting before it is read again");
    if (index == wild) throw std::runtime_error("not a data error");
    sample.width = kSide;
    sample.height = kSide;
    sample.label = label(index);
    sample.bytes.resize(kSide * kSide * 3);
    for (std::size_t i = 0; i < sample.bytes.size(); ++i) {
      sample.bytes[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(index) * 31 + i);
    }
  }
  std::string describe(std::int64_t index) const override {
    return "image_" + std::to_string(index) + ".jpg";
  }
  std::string fingerprint() const override { return "numbered"; }

  std::int64_t wild = -1;
  std::int64_t stopped = -1;  ///< whose read waits when the program is asked to stop
  std::chrono::milliseconds read_time{0};
  mutable std::atomic<std::int64_t> num_reads = 0;
  mutable std::atomic<int> num_readers = 0;
  mutable std::atomic<int> most_readers = 0;

 private:
  std::int64_t size_;
  std::set<std::int64_t> bad_;
};

TransformPipeline training_pipeline() {
  return TransformPipeline({RandomCropConfig{kSide, 2}, RandomHorizontalFlipConfig{}});
}

TransformPipeline evaluation_pipeline() { return TransformPipeline({CenterCropConfig{kSide}}); }

LoaderOptions training_options(std::int64_t global_batch_size = 10) {
  LoaderOptions options;
  options.seed = 5;
  options.global_batch_size = global_batch_size;
  return options;
}

LoaderOptions evaluation_options(std::int64_t global_batch_size = 10) {
  LoaderOptions options = training_options(global_batch_size);
  options.is_training = false;
  return options;
}

/// What a batch holds, free of the loader's memory.
struct Content {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> labels;
  std::vector<float> pixels;
  bool operator==(const Content&) const = default;
};

void append(Content& content, const HostBatch& batch) {
  const auto count = static_cast<std::size_t>(batch.count);
  ASSERT_EQ(batch.indices.size(), count);
  const float* const pixels = floats_of(batch);
  content.indices.insert(content.indices.end(), batch.indices.begin(), batch.indices.end());
  content.labels.insert(content.labels.end(), labels_of(batch), labels_of(batch) + count);
  content.pixels.insert(content.pixels.end(), pixels, pixels + count * 3 * kSide * kSide);
}

/// The next `num_batches` global batches, each joined from all ranks.
std::vector<Content> read_batches(const Dataset& dataset, LoaderOptions options, int world_size,
                                  std::int64_t num_batches, std::int64_t position = 0) {
  const TransformPipeline pipeline =
      options.is_training ? training_pipeline() : evaluation_pipeline();
  std::vector<Content> batches(static_cast<std::size_t>(num_batches));
  options.world_size = world_size;
  for (options.rank = 0; options.rank < world_size; ++options.rank) {
    const auto loader = make_data_loader(dataset, make_images(pipeline), options);
    loader->seek(position);
    for (Content& content : batches) {
      const auto batch = loader->next();
      if (batch == nullptr) break;
      append(content, *batch);
    }
  }
  return batches;
}

std::vector<std::int64_t> all_indices(const std::vector<Content>& batches) {
  std::vector<std::int64_t> indices;
  for (const Content& content : batches) {
    indices.insert(indices.end(), content.indices.begin(), content.indices.end());
  }
  return indices;
}

TEST(DataLoader, BatchesDoNotDependOnThreads) {
  const NumberedImages images(53);
  LoaderOptions options = training_options();
  const auto expected = read_batches(images, options, 1, 13);
  for (const int threads : {2, 4}) {
    for (const int prefetch : {1, 3}) {
      options.num_threads = threads;
      options.prefetch_batches = prefetch;
      EXPECT_EQ(read_batches(images, options, 1, 13), expected) << threads << " " << prefetch;
    }
  }
}

TEST(DataLoader, BatchesDoNotDependOnRanks) {
  const NumberedImages images(53);
  for (LoaderOptions options : {training_options(), evaluation_options()}) {
    const auto expected = read_batches(images, options, 1, 6);
    options.num_threads = 2;
    for (const int world_size : {2, 3, 4}) {
      EXPECT_EQ(read_batches(images, options, world_size, 6), expected) << world_size;
    }
  }
}

TEST(DataLoader, EverySampleComesOnceAnEpochInAnotherOrderEachTime) {
  const NumberedImages images(53);
  auto first = all_indices(read_batches(images, training_options(), 2, 6));
  auto second = all_indices(read_batches(images, training_options(), 2, 6, 6));
  EXPECT_NE(first, second);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 53; ++i) expected.push_back(i);
  EXPECT_NE(first, expected);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
  EXPECT_EQ(all_indices(read_batches(images, evaluation_options(), 4, 6)), expected);
}

TEST(DataLoader, LabelsAndPixelsBelongToTheIndices) {
  const NumberedImages images(40);
  const auto batches = read_batches(images, evaluation_options(), 1, 4);
  for (const Content& content : batches) {
    for (std::size_t i = 0; i < content.indices.size(); ++i) {
      EXPECT_EQ(content.labels[i], content.indices[i]);
      StoredSample sample;
      images.get(content.indices[i], sample);
      for (std::size_t at = 0; at < sample.bytes.size(); ++at) {
        ASSERT_EQ(content.pixels[i * sample.bytes.size() + at],
                  static_cast<float>(sample.bytes[at]) / 255.0f);
      }
    }
  }
}

TEST(DataLoader, PlanarBatchesHoldTheSamePixels) {
  const NumberedImages images(4);
  const auto read = [&](bool channels_last) {
    Content content;
    const auto maker = make_images(evaluation_pipeline(), {.channels_last = channels_last});
    append(content, *make_data_loader(images, maker, evaluation_options(4))->next());
    return content;
  };
  const Content rows = read(true);
  const Content planes = read(false);
  constexpr std::size_t kPlane = kSide * kSide;
  for (std::size_t image = 0; image < 4; ++image) {
    for (std::size_t pixel = 0; pixel < kPlane; ++pixel) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        ASSERT_EQ(planes.pixels[image * 3 * kPlane + channel * kPlane + pixel],
                  rows.pixels[image * 3 * kPlane + pixel * 3 + channel]);
      }
    }
  }
}

TEST(DataLoader, PipelinesChangeAtTheirBatchWhereverItStarts) {
  const NumberedImages images(20);
  const TransformPipeline small({RandomCropConfig{kSide / 2, 2}});
  const TransformPipeline large = training_pipeline();
  LoaderOptions options = training_options();
  options.num_threads = 2;
  const auto only_large = read_batches(images, options, 1, 6);
  options.maker_changes = {{3, make_images(large)}};
  const auto loader = make_data_loader(images, make_images(small), options);
  for (const std::int64_t position : {0, 1, 2, 3, 4, 5, 2, 3}) {
    loader->seek(position);
    const auto batch = loader->next();
    EXPECT_EQ(batch->at(kImagesField).spec.sizes[1], position < 3 ? kSide / 2 : kSide) << position;
    EXPECT_EQ(batch->indices, only_large[static_cast<std::size_t>(position)].indices);
    if (position < 3) continue;
    Content content;
    append(content, *batch);
    EXPECT_EQ(content, only_large[static_cast<std::size_t>(position)]) << position;
  }
}

TEST(DataLoader, LoadersWithCommonSlotsTakeTurns) {
  NumberedImages images(40);
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  const auto alone = read_batches(images, options, 2, 8);
  options.num_threads = 3;
  options.slots = WorkSlots::create(1);
  options.world_size = 2;
  std::vector<std::unique_ptr<DataLoader>> loaders;
  for (options.rank = 0; options.rank < 2; ++options.rank) {
    loaders.push_back(make_data_loader(images, make_images(pipeline), options));
    loaders.back()->start();
  }
  for (std::size_t number = 0; number < alone.size(); ++number) {
    Content content;
    for (const auto& loader : loaders) append(content, *loader->next());
    EXPECT_EQ(content, alone[number]);
  }
  EXPECT_EQ(images.most_readers, 1);
}

TEST(DataLoader, BytesBecomeTheSameFloats) {
  const NumberedImages images(20);
  const NormalizeConfig normalization{{0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}};
  const TransformPipeline pipeline(
      {RandomCropConfig{kSide, 2}, normalization, RandomErasingConfig{.p = 0.5}});
  const LoaderOptions options = training_options();
  const auto floats = make_data_loader(images, make_images(pipeline), options)->next();
  const auto bytes =
      make_data_loader(images, make_images(pipeline, {.as_bytes = true}), options)->next();
  EXPECT_EQ(bytes->indices, floats->indices);
  ASSERT_EQ(bytes->erased.size(), 10u);
  EXPECT_TRUE(floats->erased.empty());
  const NormalizeTable table(bytes->byte_pixels.value().normalization);
  constexpr std::int64_t kImage = 3 * kSide * kSide;
  int num_erased = 0;
  for (std::int64_t image = 0; image < bytes->count; ++image) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < kImage; ++i) {
      const auto byte = std::to_integer<std::uint8_t>(bytes->at(kImagesField).sample(image)[i]);
      values.push_back(table.value(static_cast<int>(i % 3), byte));
    }
    for (const EraseStep& erased : bytes->erased[static_cast<std::size_t>(image)]) {
      fill_box({values.data()}, {kSide, kSide}, erased);
      ++num_erased;
    }
    EXPECT_TRUE(std::equal(values.begin(), values.end(), floats_of(*floats) + image * kImage));
  }
  EXPECT_GT(num_erased, 0);
}

TEST(DataLoader, ContinuesAnywhereAsIfItHadNotStopped) {
  const NumberedImages images(53);
  LoaderOptions options = training_options();
  options.num_threads = 2;
  const auto whole = read_batches(images, options, 1, 14);
  for (const std::int64_t position : {1, 5, 6, 11, 13}) {
    const auto rest = read_batches(images, options, 1, 14 - position, position);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + position)) << position;
  }
}

TEST(DataLoader, SeeksBackAndForthWhileThreadsWork) {
  const NumberedImages images(53);
  LoaderOptions options = training_options();
  options.num_threads = 3;
  options.prefetch_batches = 4;
  const auto expected = read_batches(images, options, 1, 30);
  const TransformPipeline pipeline = training_pipeline();
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  loader->start();
  for (const std::int64_t position : {7, 0, 29, 3, 3, 12, 11, 28}) {
    loader->seek(position);
    EXPECT_EQ(loader->position(), position);
    Content content;
    append(content, *loader->next());
    EXPECT_EQ(content, expected[static_cast<std::size_t>(position)]);
    EXPECT_EQ(loader->position(), position + 1);
  }
}

TEST(DataLoader, KeepsOrDropsTheLastBatch) {
  const NumberedImages images(53);
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  auto loader = make_data_loader(images, make_images(pipeline), options);
  EXPECT_EQ(loader->batches_per_epoch(), 6);
  EXPECT_EQ(loader->global_count_of(5), 3);
  loader->seek(5);
  EXPECT_EQ(loader->next()->count, 3);
  EXPECT_EQ(loader->next()->count, 10);
  options.drop_last = true;
  loader = make_data_loader(images, make_images(pipeline), options);
  EXPECT_EQ(loader->batches_per_epoch(), 5);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 5; ++i) {
    const auto batch = loader->next();
    seen.insert(batch->indices.begin(), batch->indices.end());
  }
  EXPECT_EQ(seen.size(), 50u);
}

TEST(DataLoader, EvaluationEndsAndKeepsRanksInStep) {
  const NumberedImages images(9);
  const TransformPipeline pipeline = evaluation_pipeline();
  LoaderOptions options = evaluation_options(4);
  options.drop_last = true;  // not of evaluation
  options.world_size = 4;
  options.rank = 3;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  std::vector<std::int64_t> counts;
  while (const auto batch = loader->next()) {
    counts.push_back(batch->count);
    EXPECT_NE(batch->at(kImagesField).memory, nullptr);
    EXPECT_EQ(batch->global_count, counts.size() < 3 ? 4 : 1);
  }
  EXPECT_THAT(counts, ElementsAre(1, 1, 0));
  EXPECT_EQ(loader->next(), nullptr);
  loader->seek(0);
  EXPECT_EQ(loader->next()->indices.front(), 3);
}

TEST(DataLoader, FailsInOrderWithTheFilesName) {
  const NumberedImages images(50, {23, 25, 37});
  const TransformPipeline pipeline = evaluation_pipeline();
  for (const int threads : {1, 4}) {
    LoaderOptions options = evaluation_options();
    options.num_threads = threads;
    const auto loader = make_data_loader(images, make_images(pipeline), options);
    EXPECT_EQ(loader->next()->count, 10);
    EXPECT_EQ(loader->next()->count, 10);
    for (int again = 0; again < 2; ++again) {
      try {
        loader->next();
        FAIL();
      } catch (const base::DataError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("image_23.jpg"), HasSubstr("cut short"),
                                        HasSubstr("data.on_error")));
      }
      EXPECT_EQ(loader->position(), 2);
    }
    loader->seek(4);
    EXPECT_EQ(loader->next()->count, 10);
  }
}

TEST(DataLoader, AStopIsThrownInOrderAlsoWhereBadSamplesAreSkipped) {
  NumberedImages images(30);
  images.stopped = 13;
  const TransformPipeline pipeline = evaluation_pipeline();
  LoaderOptions options = evaluation_options();
  options.on_error = OnError::kSkip;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  EXPECT_EQ(loader->next()->count, 10) << "what was read before it is given";
  for (int again = 0; again < 2; ++again) {
    EXPECT_THROW(loader->next(), base::Interrupted);
    EXPECT_FALSE(loader->is_ready());
    EXPECT_EQ(loader->position(), 1);
  }
}

TEST(DataLoader, IsReadyWhenTheNextBatchIsAtHand) {
  const NumberedImages images(20);
  const TransformPipeline pipeline = evaluation_pipeline();
  const auto loader = make_data_loader(images, make_images(pipeline), evaluation_options());
  EXPECT_FALSE(loader->is_ready()) << "nothing was asked for yet";
  loader->start();
  while (!loader->is_ready()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(loader->next()->count, 10);
  EXPECT_EQ(loader->next()->count, 10);
  EXPECT_TRUE(loader->is_ready()) << "the end needs no wait";
  EXPECT_EQ(loader->next(), nullptr);
}

TEST(DataLoader, SkipsWhateverElseIsWrongWithASample) {
  NumberedImages images(20);
  images.wild = 3;
  const TransformPipeline pipeline = evaluation_pipeline();
  LoaderOptions options = evaluation_options();
  options.on_error = OnError::kSkip;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  const auto batch = loader->next();
  EXPECT_EQ(batch->count, 9);
  EXPECT_THAT(batch->skipped, ElementsAre(HasSubstr("image_3.jpg")));
}

TEST(DataLoader, ReplacesBadTrainingSamplesAlikeOnAnyRanksAndThreads) {
  const std::set<std::int64_t> bad = {0, 7, 19, 23, 52};
  const NumberedImages images(53, bad);
  LoaderOptions options = training_options();
  options.on_error = OnError::kSkip;
  const auto expected = read_batches(images, options, 1, 12);
  options.num_threads = 3;
  EXPECT_EQ(read_batches(images, options, 1, 12), expected);
  EXPECT_EQ(read_batches(images, options, 4, 12), expected);
  // All other samples stay where they were.
  const auto good = all_indices(read_batches(NumberedImages(53), options, 1, 12));
  const auto mended = all_indices(expected);
  ASSERT_EQ(mended.size(), good.size());
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(bad.contains(mended[i]));
    if (!bad.contains(good[i])) {
      EXPECT_EQ(mended[i], good[i]);
    }
  }
}

TEST(DataLoader, CountsAndNamesSkippedSamples) {
  const NumberedImages images(20, {4});
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  options.on_error = OnError::kSkip;
  options.num_threads = 2;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(loader->next()->count, 10);
  EXPECT_GE(loader->counts().skipped_samples, 1);
  EXPECT_THAT(loader->counts().last_skipped, HasSubstr("image_4.jpg: it is cut short"));
}

TEST(DataLoader, LeavesBadEvaluationSamplesOut) {
  const NumberedImages images(20, {0, 4, 5, 19});
  const TransformPipeline pipeline = evaluation_pipeline();
  LoaderOptions options = evaluation_options();
  options.on_error = OnError::kSkip;
  const auto whole = read_batches(NumberedImages(20), options, 1, 2);
  for (const int threads : {1, 3}) {
    options.num_threads = threads;
    const auto loader = make_data_loader(images, make_images(pipeline), options);
    const auto first = loader->next();
    EXPECT_EQ(first->count, 7);
    EXPECT_EQ(first->global_count, 10);
    EXPECT_THAT(first->indices, ElementsAre(1, 2, 3, 6, 7, 8, 9));
    EXPECT_EQ(loader->counts().skipped_samples, 3);
    EXPECT_THAT(first->skipped, ElementsAre(HasSubstr("image_0.jpg"), HasSubstr("image_4.jpg"),
                                            HasSubstr("image_5.jpg")));
    for (std::size_t i = 0; i < first->indices.size(); ++i) {
      EXPECT_EQ(labels_of(*first)[i], first->indices[i]);
      const std::size_t floats = 3 * kSide * kSide;
      const auto from =
          whole[0].pixels.begin() + first->indices[i] * static_cast<std::ptrdiff_t>(floats);
      EXPECT_TRUE(std::equal(from, from + static_cast<std::ptrdiff_t>(floats),
                             floats_of(*first) + i * floats));
    }
    EXPECT_EQ(loader->next()->count, 9);
    EXPECT_EQ(loader->next(), nullptr);
    EXPECT_EQ(loader->counts().skipped_samples, 4);
  }
}

TEST(DataLoader, LeavesOutWhatManyThreadsCannotRead) {
  std::set<std::int64_t> odd;
  std::vector<std::int64_t> even;
  for (std::int64_t i = 0; i < 640; i += 2) {
    even.push_back(i);
    odd.insert(i + 1);
  }
  const NumberedImages images(640, odd);
  const TransformPipeline pipeline = evaluation_pipeline();
  LoaderOptions options = evaluation_options(640);
  options.on_error = OnError::kSkip;
  options.num_threads = 4;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  EXPECT_EQ(loader->next()->indices, even);
  EXPECT_EQ(loader->counts().skipped_samples, 320);
}

TEST(DataLoader, GivesUpWhenEverythingIsBad) {
  std::set<std::int64_t> all;
  for (std::int64_t i = 0; i < 20; ++i) all.insert(i);
  const NumberedImages images(20, all);
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  options.on_error = OnError::kSkip;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  try {
    loader->next();
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("8 samples in a row"), HasSubstr(".jpg")));
  }
}

TEST(DataLoader, ReusesItsMemory) {
  const NumberedImages images(53);
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  options.num_threads = 2;
  options.prefetch_batches = 2;
  std::atomic<int> allocations = 0;
  options.allocator = [&](std::size_t size_bytes) {
    ++allocations;
    return allocate_host_memory(size_bytes);
  };
  auto loader = make_data_loader(images, make_images(pipeline), options);
  for (int i = 0; i < 100; ++i) loader->next();
  // Two ahead, one in the consumer's hands, and one that it has not let go of when the next is
  // opened.
  EXPECT_LE(allocations, 4);
  const auto kept = loader->next();
  loader.reset();
  EXPECT_EQ(kept->count, 10);
  floats_of(*kept)[0] = 1;  // its memory outlives the loader
}

TEST(DataLoader, ReadsNoFurtherAheadThanAsked) {
  const NumberedImages images(1000);
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  options.num_threads = 2;
  options.prefetch_batches = 3;
  const auto loader = make_data_loader(images, make_images(pipeline), options);
  EXPECT_EQ(images.num_reads, 0);  // nothing before it is asked for
  for (int i = 0; i < 5; ++i) loader->next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(images.num_reads, (5 + 3) * 10);
}

TEST(DataLoader, MetersTheTimeThatNextWaits) {
  NumberedImages images(20);
  images.read_time = std::chrono::milliseconds(2);
  const TransformPipeline pipeline = training_pipeline();
  const auto loader = make_data_loader(images, make_images(pipeline), training_options());
  EXPECT_EQ(loader->counts().wait_seconds, 0);
  // A batch takes 20 ms to read, so next() finds none ready, unless this thread is held up each
  // time.
  for (int i = 0; i < 50 && loader->counts().wait_seconds == 0; ++i) loader->next();
  EXPECT_GT(loader->counts().wait_seconds, 0);
}

TEST(DataLoader, RefusesOptionsThatMakeNoSense) {
  const NumberedImages images(20);
  const TransformPipeline pipeline = training_pipeline();
  LoaderOptions options = training_options();
  options.num_threads = 0;
  EXPECT_THROW(make_data_loader(images, make_images(pipeline), options), base::ConfigError);
  options = training_options();
  options.prefetch_batches = 0;
  EXPECT_THROW(make_data_loader(images, make_images(pipeline), options), base::ConfigError);
  options = training_options(0);
  EXPECT_THROW(make_data_loader(images, make_images(pipeline), options), base::ConfigError);
  const NumberedImages none(0);
  EXPECT_THROW(make_data_loader(none, make_images(pipeline), training_options()), base::DataError);
}

/// Expects that every read was hinted at, and not taken back.
class HintedImages final : public Dataset {
 public:
  std::int64_t size() const override { return images_.size(); }
  int num_classes() const override { return images_.num_classes(); }
  std::vector<std::string> class_names() const override { return {}; }
  std::int64_t label(std::int64_t index) const override { return images_.label(index); }
  bool reads_ahead() const override { return true; }
  void will_read(std::span<const std::int64_t> indices) const override {
    const std::lock_guard lock(mutex_);
    hints_.insert(indices.begin(), indices.end());
    most_hints_ = std::max(most_hints_, hints_.size());
  }
  void will_read_no_more() const override {
    const std::lock_guard lock(mutex_);
    hints_.clear();
  }
  void get(std::int64_t index, StoredSample& sample) const override {
    images_.get(index, sample);
    const std::lock_guard lock(mutex_);
    const auto hint = hints_.find(index);
    if (hint == hints_.end()) {
      ++num_unhinted_;
    } else {
      hints_.erase(hint);
    }
  }
  std::string describe(std::int64_t index) const override { return images_.describe(index); }
  std::string fingerprint() const override { return images_.fingerprint(); }

  // A loader's threads hint and read as long as it lives.
  std::size_t num_hints() const {
    const std::lock_guard lock(mutex_);
    return hints_.size();
  }
  std::size_t most_hints() const {
    const std::lock_guard lock(mutex_);
    return most_hints_;
  }
  int num_unhinted() const {
    const std::lock_guard lock(mutex_);
    return num_unhinted_;
  }

 private:
  NumberedImages images_{2000};
  mutable std::mutex mutex_;
  mutable std::multiset<std::int64_t> hints_;
  mutable std::size_t most_hints_ = 0;
  mutable int num_unhinted_ = 0;
};

TEST(DataLoader, HintsAtWhatItWillRead) {
  const HintedImages images;
  const auto pipeline = training_pipeline();
  LoaderOptions options = training_options(20);
  options.rank = 1;
  options.world_size = 2;
  options.num_threads = 3;
  {
    const auto loader = make_data_loader(images, make_images(pipeline), options);
    for (int i = 0; i < 250; ++i) loader->next();  // beyond an epoch
    EXPECT_EQ(images.num_unhinted(), 0);
    EXPECT_GE(images.most_hints(), 512u);  // far enough for far machines,
    EXPECT_LE(images.most_hints(), 700u);  // and no further
  }
  EXPECT_EQ(images.num_hints(), 0u) << "they are taken back in the end";
}

TEST(DataLoader, TakesHintsBackWhenItSeeks) {
  const HintedImages images;
  const auto pipeline = evaluation_pipeline();
  const auto loader = make_data_loader(images, make_images(pipeline), evaluation_options(100));
  loader->next();
  loader->seek(12);
  const auto batch = loader->next();
  EXPECT_EQ(batch->indices.front(), 1200);
  while (loader->next()) {
  }
  EXPECT_EQ(images.num_hints(), 0u);
}

}  // namespace
}  // namespace paceline::data
