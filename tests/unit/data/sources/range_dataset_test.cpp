#include "paceline/data/sources/range_dataset.h"

#include "paceline/base/error.h"
#include "paceline/data/index/range_index_builder.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"

#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string bytes_at(const Dataset& dataset, std::int64_t index) {
  StoredSample sample;
  sample.width = 7;  // of another sample before
  dataset.get(index, sample);
  EXPECT_EQ(sample.width, 0);
  EXPECT_EQ(sample.label, dataset.label(index));
  return {sample.bytes.begin(), sample.bytes.end()};
}

TEST(RangeDataset, ReadsRangesOfFilesAndFilesOfFolders) {
  const TempFolder folder;
  folder.write("a.tar", "0123456789");
  folder.write("photos/one.jpg", "a whole file");
  RangeIndexBuilder builder(folder.path(), "");
  const std::uint32_t tar = builder.add_source("a.tar");
  const std::uint32_t photos = builder.add_source("photos");
  builder.add(tar, 2, 3, 0, "x.jpg");
  builder.add(photos, 0, 12, 1, "one.jpg");
  builder.add(tar, 8, 2, 1, "y.jpg");
  builder.add(tar, 8, 3, 1, "cut.jpg");
  const RangeDataset dataset(builder.finish({"a", "b"}));
  EXPECT_EQ(dataset.size(), 4);
  EXPECT_THAT(dataset.class_names(), ElementsAre("a", "b"));
  EXPECT_EQ(dataset.num_classes(), 2);
  EXPECT_EQ(bytes_at(dataset, 0), "234");
  EXPECT_EQ(bytes_at(dataset, 1), "a whole file");
  EXPECT_EQ(bytes_at(dataset, 2), "89");
  EXPECT_EQ(dataset.name(2), "y.jpg");
  EXPECT_EQ(dataset.describe(1), (folder.path() / "photos/one.jpg").string());
  EXPECT_EQ(dataset.describe(2),
            (folder.path() / "a.tar").string() + ": y.jpg (2 bytes at byte 8)");
  EXPECT_THAT([&] { bytes_at(dataset, 3); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("a.tar"), HasSubstr("ends at"))));
}

// More sources than are kept open, from several threads.
TEST(RangeDataset, ReadsFromManyFilesAtOnce) {
  const TempFolder folder;
  constexpr int kFiles = 450;
  RangeIndexBuilder builder(folder.path(), "");
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = fmt::format("{}.tar", i);
    folder.write(name, fmt::format("<content of {}>", i));
    builder.add(builder.add_source(name), 1, 10 + std::to_string(i).size() + 1, 0, name);
  }
  const RangeDataset dataset(builder.finish({"all"}));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2 * kFiles; ++i) {
        const int which = (i * 7 + thread * 31) % kFiles;
        EXPECT_EQ(bytes_at(dataset, which), fmt::format("content of {}", which));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace paceline::data
