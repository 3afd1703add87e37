#include "paceline/pretrained/bucket_weights.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

class BucketWeights : public testing::Test {
 protected:
  FetchedWeights fetch(const std::string& path) {
    const FetchContext context{
        {files, interruption, 1, [](double) {}}, {}, [this] { return storage; }};
    return fetch_from_bucket({path}, folder.path(), context);
  }

  test::TempFolder folder;
  base::RealFileSystem files;
  base::Interruption interruption;
  base::LogRedirection quiet{[](base::LogLevel, std::string_view) {}};
  std::shared_ptr<test::FakeStorage> storage = std::make_shared<test::FakeStorage>();
};

TEST_F(BucketWeights, AreCopiedOnceAVersion) {
  storage->files["s3://b/net.safetensors"] = "weights";
  const fs::path first = fetch("s3://b/net.safetensors").path;
  EXPECT_EQ(base::read_file(first), "weights");
  EXPECT_EQ(first.filename(), "net.safetensors");
  storage->num_reads = 0;
  EXPECT_EQ(fetch("s3://b/net.safetensors").path, first);
  EXPECT_EQ(storage->num_reads, 0);
  storage->files["s3://b/net.safetensors"] = "others";
  storage->changed = 2;
  const fs::path second = fetch("s3://b/net.safetensors").path;
  EXPECT_EQ(base::read_file(second), "others");
  EXPECT_EQ(base::read_file(first), "weights");
}

TEST_F(BucketWeights, ShardsComeWithTheirIndex) {
  storage->files["gs://b/a/net.safetensors.index.json"] =
      R"({"weight_map": {"x": "1.safetensors", "y": "2.safetensors"}})";
  storage->files["gs://b/a/1.safetensors"] = "one";
  storage->files["gs://b/a/2.safetensors"] = "two";
  const fs::path index = fetch("gs://b/a/net.safetensors.index.json").path;
  EXPECT_EQ(base::read_file(index.parent_path() / "1.safetensors"), "one");
  EXPECT_EQ(base::read_file(index.parent_path() / "2.safetensors"), "two");
}

TEST_F(BucketWeights, ThatBreakOffAreGoneOnWith) {
  storage->files["s3://b/net.bin"] = std::string(std::size_t{65} << 20, 'w');  // two reads
  storage->disturb = [](const std::string&, std::uint64_t offset, std::span<std::uint8_t>) {
    if (offset >= std::uint64_t{64} << 20) throw base::DataError("the disk of the cloud broke");
  };
  EXPECT_THROW(fetch("s3://b/net.bin"), base::DataError);
  storage->disturb = nullptr;
  storage->bytes_read = 0;
  const fs::path path = fetch("s3://b/net.bin").path;
  EXPECT_EQ(storage->bytes_read, std::int64_t{1} << 20);
  EXPECT_EQ(base::read_file(path), storage->files["s3://b/net.bin"]);
}

TEST_F(BucketWeights, WhatIsNotThereIsTold) {
  EXPECT_THAT([&] { fetch("s3://b/net.bin"); },
              testing::ThrowsMessage<base::DataError>(
                  testing::HasSubstr("s3://b/net.bin: there is no such file")));
}

}  // namespace
}  // namespace paceline::pretrained
