#include "paceline/data/index/range_index.h"

#include "paceline/base/error.h"
#include "paceline/data/index/range_index_builder.h"
#include "support/data/mutations.h"
#include "support/temp_folder.h"

#include <chrono>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Sources "a.tar" and "photos/" and an index of samples in them.
class RangeIndexFile : public ::testing::Test {
 protected:
  RangeIndexFile() {
    folder_.write("a.tar", "0123456789");
    folder_.write("photos/1.jpg", "x");
    age();
  }

  void age() const {
    for (const char* name : {"a.tar", "photos"}) {
      fs::last_write_time(folder_.path() / name, hour_ago_);
    }
  }

  RangeIndex make(int num_samples, std::string_view key = "key") const {
    RangeIndexBuilder builder(folder_.path(), key);
    const std::uint32_t tar = builder.add_source("a.tar");
    const std::uint32_t photos = builder.add_source(folder_.path() / "photos");
    for (int i = 0; i < num_samples; ++i) {
      const auto place = static_cast<std::uint64_t>(i);
      builder.add(i % 7 == 3 ? photos : tar, place << 20, place * 3, i % 2,
                  fmt::format("sample_{}", i));
    }
    return builder.finish({"even", "odd or/and zero"});
  }

  std::optional<RangeIndex> load(std::string_view key = "key") const {
    return RangeIndex::load(file_, folder_.path(), key);
  }

  TempFolder folder_;
  const fs::file_time_type hour_ago_ = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const fs::path file_ = folder_.path() / "cache/.index";
};

TEST_F(RangeIndexFile, GivesBackWhatWasAdded) {
  const RangeIndex made = make(5000);
  ASSERT_TRUE(made.save(file_));
  const std::optional<RangeIndex> loaded = load();
  ASSERT_TRUE(loaded);
  for (const RangeIndex* index : {&made, &*loaded}) {
    ASSERT_EQ(index->size(), 5000);
    EXPECT_THAT(index->classes(), ElementsAre("even", "odd or/and zero"));
    EXPECT_EQ(index->num_sources(), 2);
    EXPECT_EQ(index->source(0), folder_.path() / "a.tar");
    EXPECT_EQ(index->source(1), folder_.path() / "photos");
    EXPECT_FALSE(index->is_folder(0));
    EXPECT_TRUE(index->is_folder(1));
    EXPECT_EQ(index->fingerprint(), made.fingerprint());
    for (const int i : {4999, 0, 3, 1023, 1024, 2048, 4096}) {
      EXPECT_EQ(index->name(i), fmt::format("sample_{}", i));
      EXPECT_EQ(index->label(i), i % 2);
      const ByteRange range = index->range(i);
      EXPECT_EQ(range.offset, i % 7 == 3 ? 0 : static_cast<std::uint64_t>(i) << 20)
          << "of files in folders it is zero";
      EXPECT_EQ(range.size, static_cast<std::uint64_t>(i) * 3);
      EXPECT_EQ(range.source, i % 7 == 3 ? 1u : 0u);
    }
  }
}

TEST_F(RangeIndexFile, TakesNoSampleAtAll) {
  ASSERT_TRUE(make(0).save(file_));
  EXPECT_EQ(load()->size(), 0);
}

TEST_F(RangeIndexFile, IsReadIntoMemoryOnlyIfAllOfItIsSound) {
  ASSERT_TRUE(make(3000).save(file_));
  const auto read = [&](std::string_view key) {
    return RangeIndex::read(file_, folder_.path(), key);
  };
  EXPECT_FALSE(read("another key"));
  folder_.write("photos/2.jpg", "x");
  const std::optional<RangeIndex> index = read("key");
  ASSERT_TRUE(index) << "its sources are not looked at";
  EXPECT_FALSE(index->has_current_sources(*local_storage()));
  std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);  // the last name
  file.put('?');
  file.close();
  EXPECT_FALSE(read("key"));
  fs::resize_file(file_, 0);
  EXPECT_FALSE(read("key"));
  EXPECT_EQ(index->name(2999), "sample_2999") << "it needs its file no more";
}

TEST_F(RangeIndexFile, MovesWithTheData) {
  ASSERT_TRUE(make(3).save(file_));
  const TempFolder elsewhere;
  fs::copy(folder_.path() / "a.tar", elsewhere.path() / "a.tar");
  fs::last_write_time(elsewhere.path() / "a.tar", fs::last_write_time(folder_.path() / "a.tar"));
  EXPECT_EQ(RangeIndex::load(file_, elsewhere.path(), "key")->source(0),
            elsewhere.path() / "a.tar");
}

TEST_F(RangeIndexFile, SourcesLieBelowTheRootUnlessTheirPathIsWhole) {
  RangeIndexBuilder builder(folder_.path(), "key");
  const FileFacts file{.size = 1, .changed = 1};
  builder.add_source("a.tar", file);
  builder.add_source("s3://b/set/b.tar", file);
  builder.add_source("/elsewhere/c.tar", file);
  builder.add_source("hf:cats", {.is_folder = true});
  const RangeIndex index = builder.finish({"cat"});
  EXPECT_EQ(index.source(0), folder_.path() / "a.tar");
  EXPECT_EQ(index.source(1), "s3://b/set/b.tar");
  EXPECT_EQ(index.source(2), "/elsewhere/c.tar");
  EXPECT_EQ(index.source(3), folder_.path() / "hf:cats") << "a folder's name is not remote";
  EXPECT_THROW(index.source(4), base::InternalError);
}

TEST_F(RangeIndexFile, IsStaleWhenASourceOrTheKeyChanged) {
  ASSERT_TRUE(make(3).save(file_));
  EXPECT_TRUE(load());
  EXPECT_FALSE(load("another key"));
  folder_.write("photos/2.jpg", "x");
  EXPECT_FALSE(load());
  age();
  EXPECT_TRUE(load());
  folder_.write("a.tar", "longer than before");
  age();  // the size alone tells
  EXPECT_FALSE(load());
  fs::remove(folder_.path() / "a.tar");
  EXPECT_FALSE(load());
}

TEST_F(RangeIndexFile, IsUnsettledWhileASourceIsYoung) {
  EXPECT_TRUE(make(1).is_stable());
  folder_.write("a.tar", "new");
  EXPECT_FALSE(make(1).is_stable());
}

/// Bytes of this process's memory that hold a part of a mapped file.
std::int64_t resident_bytes_of(const fs::path& file) {
  std::ifstream maps("/proc/self/smaps");
  bool is_ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" /") != std::string::npos) is_ours = line.ends_with(file.string());
    if (is_ours && line.starts_with("Rss:")) return std::stoll(line.substr(4)) * 1024;
  }
  return -1;
}

TEST_F(RangeIndexFile, OpeningReadsNothingPerSample) {
  ASSERT_TRUE(make(400'000).save(file_));
  const auto size = static_cast<std::int64_t>(fs::file_size(file_));
  const std::optional<RangeIndex> index = load();
  ASSERT_TRUE(index);
  // The kernel maps up to 2 MiB around each byte that is looked at: the head and the classes.
  const std::int64_t opened = resident_bytes_of(file_);
  EXPECT_GT(opened, 0);
  EXPECT_LE(opened, 4 << 20);
  ASSERT_GT(size, 3 * (4 << 20));
  for (std::int64_t i = 0; i < index->size(); ++i) index->label(i);
  EXPECT_GT(resident_bytes_of(file_), size - (1 << 20));
}

TEST_F(RangeIndexFile, ADamagedHeadIsAsGoodAsAbsent) {
  ASSERT_TRUE(make(3000).save(file_));
  for (const int at : {0, 9, 20, 70, 80, 120, 150}) {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int sound = file.get();
    file.seekp(at);
    file.put(static_cast<char>(sound ^ 0x55));
    file.close();
    EXPECT_FALSE(load()) << at;
    make(3000).save(file_);
  }
  fs::resize_file(file_, fs::file_size(file_) - 1);
  EXPECT_FALSE(load());
  EXPECT_FALSE(RangeIndex::load(folder_.path() / "absent", folder_.path(), "key"));
}

TEST_F(RangeIndexFile, DamageIsFoundWhereItLies) {
  ASSERT_TRUE(make(3000).save(file_));
  std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);  // the last name
  file.put('?');
  file.close();
  const std::optional<RangeIndex> index = load();
  ASSERT_TRUE(index);
  EXPECT_EQ(index->name(2047), "sample_2047");
  EXPECT_THAT([&] { index->name(2999); }, ThrowsMessage<base::DataError>(AllOf(
                                              HasSubstr(file_.string()), HasSubstr("remove it"))));
  EXPECT_THROW(index->label(2048), base::DataError);
}

// Whatever is done to the file: no index, the same values, or a DataError.
TEST_F(RangeIndexFile, FuzzGivesNoWrongValue) {
  ASSERT_TRUE(make(1500).save(file_));
  std::ifstream stream(file_, std::ios::binary);
  const std::string sound{std::istreambuf_iterator<char>(stream), {}};
  const MemoryFile memory;
  int num_loaded = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = sound;
    mutate(bytes, random);
    const auto index = RangeIndex::load(memory.write(bytes), folder_.path(), "key");
    if (!index) return;
    ++num_loaded;
    try {
      for (const int i : {0, 1022, 1023, 1024, 1499}) {
        ASSERT_EQ(index->name(i), fmt::format("sample_{}", i));
        ASSERT_EQ(index->label(i), i % 2);
        ASSERT_EQ(index->range(i).size, static_cast<std::uint32_t>(i) * 3);
      }
    } catch (const base::DataError&) {
    }
  });
  EXPECT_GT(num_loaded, count / 10);
}

TEST_F(RangeIndexFile, AFileThatIsCutShortUnderARunIsAnError) {
  ASSERT_TRUE(make(10'000).save(file_));
  const std::optional<RangeIndex> index = load();
  ASSERT_TRUE(index);
  fs::resize_file(file_, 4096);
  EXPECT_THROW(index->label(9'000), base::DataError);
  EXPECT_THROW(index->name(0), base::DataError);
}

}  // namespace
}  // namespace paceline::data
