#include "paceline/data/storage/caching_storage.h"

#include "paceline/base/error.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr char kPath[] = "s3://b/x";

class CachingStorageTest : public ::testing::Test {
 protected:
  CachingStorageTest() { inner_->files[kPath] = "0123456789"; }

  std::shared_ptr<const Storage> open() {
    return keep_in_cache(
        inner_, std::make_shared<ByteCache>(folder_.path(), std::uint64_t{1} << 30), counts_);
  }

  test::TempFolder folder_;
  std::shared_ptr<test::FakeStorage> inner_ = std::make_shared<test::FakeStorage>();
  std::shared_ptr<CacheCounts> counts_ = std::make_shared<CacheCounts>();
};

TEST_F(CachingStorageTest, ReadsARangeOnce) {
  for (int run = 0; run < 3; ++run) {
    const auto file = open()->open(kPath);
    EXPECT_EQ(file->path(), kPath);
    EXPECT_EQ(test::read_text(*file), "0123456789");
  }
  EXPECT_EQ(inner_->num_reads, 1);
  EXPECT_EQ(inner_->num_known, 1) << "it opens no file that is in the cache";
  EXPECT_EQ(counts_->hits, 2);
  EXPECT_EQ(counts_->misses, 1);
}

TEST_F(CachingStorageTest, AnotherVersionIsAnotherFile) {
  test::read_text(*open()->open(kPath));
  inner_->files[kPath] = "abcdefghij";
  inner_->changed = 2;
  EXPECT_EQ(test::read_text(*open()->open(kPath)), "abcdefghij");
  inner_->changed = 0;  // which version it is nobody knows
  EXPECT_EQ(test::read_text(*open()->open(kPath)), "abcdefghij");
  inner_->files[kPath] = "ABCDEFGHIJ";
  EXPECT_EQ(test::read_text(*open()->open(kPath)), "ABCDEFGHIJ");
}

TEST_F(CachingStorageTest, FetchesTheMissingPartsOnly) {
  const auto file = open()->open(kPath);
  std::vector<std::vector<std::uint8_t>> bytes(3, std::vector<std::uint8_t>(2));
  file->read(4, bytes[1]);
  EXPECT_EQ(inner_->bytes_read, 2);
  file->read_parts(std::vector<FilePart>{{0, bytes[0]}, {4, bytes[1]}, {8, bytes[2]}});
  EXPECT_EQ(inner_->bytes_read, 6);
  EXPECT_EQ(bytes[0][1], '1');
  EXPECT_EQ(bytes[1][1], '5');
  EXPECT_EQ(bytes[2][1], '9');
}

TEST_F(CachingStorageTest, KeepsNothingThatIsReadOnce) {
  const auto file = open()->open(kPath);
  std::vector<std::uint8_t> bytes(5);
  for (int i = 0; i < 2; ++i) file->read_once(0, bytes);
  EXPECT_EQ(inner_->num_reads, 2);
  EXPECT_EQ(counts_->misses, 0);
}

TEST_F(CachingStorageTest, KeepsNothingOfAReadThatFailed) {
  const auto storage = open();
  const auto file = storage->open(kPath);
  inner_->fail_next(TransientError("reset"));
  EXPECT_THROW(test::read_text(*file), TransientError);
  EXPECT_EQ(test::read_text(*file), "0123456789");
  EXPECT_THROW(storage->open("s3://b/absent"), base::DataError);
}

}  // namespace
}  // namespace paceline::data
