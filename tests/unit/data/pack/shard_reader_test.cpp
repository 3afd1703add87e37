#include "paceline/data/pack/shard_reader.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/pack/shard_writer.h"
#include "support/data/mutations.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kPlan = 42;
constexpr std::uint32_t kNumber = 3;

std::span<const std::uint8_t> as_payload(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void write_two_samples(base::FileSystem& files, const std::filesystem::path& path) {
  ShardWriter writer(files, path, kNumber, kPlan);
  writer.add({.payload = as_payload("a file"), .size = {20, 30}, .label = 7, .name = "x/a.jpg"});
  writer.add({.payload = as_payload("RGBRGB"),
              .kind = PayloadKind::kPixels,
              .size = {1, 2},
              .label = 8,
              .name = "b"});
  writer.finish();
}

/// What a reader of the whole shard comes upon: the first error's text, or "".
std::string error_in(const std::filesystem::path& path) {
  try {
    const ShardReader reader(path);
    StoredSample sample;
    for (std::int64_t i = 0; i < reader.num_samples(); ++i) {
      reader.read(i, sample);
      reader.name(i);
    }
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

TEST(ShardReader, GivesBackWhatWasWritten) {
  const TempFolder folder;
  base::RealFileSystem files;
  const std::filesystem::path path = folder.path() / "one.pack";
  write_two_samples(files, path);
  const ShardReader reader(path);
  EXPECT_EQ(reader.num_samples(), 2);
  EXPECT_EQ(reader.number(), kNumber);
  EXPECT_EQ(reader.plan(), kPlan);
  EXPECT_EQ(reader.name(0), "x/a.jpg");
  EXPECT_EQ(reader.name(1), "b");
  EXPECT_EQ(reader.record(0).height, 20);
  EXPECT_EQ(reader.record(0).width, 30);
  StoredSample sample;
  reader.read(1, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "RGBRGB");
  EXPECT_EQ(sample.height, 1);
  EXPECT_EQ(sample.width, 2);
  EXPECT_EQ(sample.label, 8);
  reader.read(0, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "a file");
  EXPECT_EQ(sample.width, 0) << "files have no size of their own";
  EXPECT_EQ(sample.label, 7);
}

TEST(ShardReader, EveryFlippedBitIsFoundAndTheFileNamed) {
  const TempFolder folder;
  base::RealFileSystem files;
  const std::filesystem::path path = folder.path() / "one.pack";
  write_two_samples(files, path);
  const std::string whole = base::read_file(path);
  // Bytes that mean nothing: the header's reserve, and those that align the index.
  const auto means_nothing = [](std::size_t at) {
    return (at >= 24 && at < 64) || (at >= 76 && at < 80);
  };
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    if (means_nothing(bit / 8)) continue;
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    folder.write("one.pack", damaged);
    EXPECT_THAT(error_in(path), HasSubstr("one.pack")) << "byte " << bit / 8;
  }
  folder.write("one.pack", whole);
  EXPECT_EQ(error_in(path), "");
}

TEST(ShardReader, ADamagedPayloadIsNamedBySample) {
  const TempFolder folder;
  base::RealFileSystem files;
  const std::filesystem::path path = folder.path() / "one.pack";
  write_two_samples(files, path);
  std::string damaged = base::read_file(path);
  damaged[damaged.find("RGBRGB")] = 'B';
  folder.write("one.pack", damaged);
  EXPECT_THAT(error_in(path), AllOf(HasSubstr("sample b"), HasSubstr("another checksum")));
}

TEST(ShardReader, EveryTruncationIsFound) {
  const TempFolder folder;
  base::RealFileSystem files;
  const std::filesystem::path path = folder.path() / "one.pack";
  write_two_samples(files, path);
  const std::string whole = base::read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("one.pack", whole.substr(0, size));
    EXPECT_THAT(error_in(path), HasSubstr("one.pack")) << size << " bytes";
  }
}

TEST(ShardReaderFuzz, DamageOfAllKindsIsAnErrorOrHarmless) {
  const TempFolder folder;
  base::RealFileSystem files;
  const std::filesystem::path path = folder.path() / "one.pack";
  write_two_samples(files, path);
  const std::string whole = base::read_file(path);
  int errors = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string damaged = whole;
    mutate(damaged, random);
    folder.write("one.pack", damaged);
    errors += error_in(path).empty() ? 0 : 1;
  });
  EXPECT_GT(errors, count / 2);
}

TEST(ShardReader, AFileThatIsCutShortUnderARunIsAnError) {
  const TempFolder folder;
  base::RealFileSystem files;
  const auto path = folder.path() / "shard";
  write_two_samples(files, path);
  const ShardReader reader(path);
  std::filesystem::resize_file(path, 0);
  StoredSample sample;
  EXPECT_EQ(reader.name(0), "x/a.jpg") << "the index is in memory";
  EXPECT_THROW(reader.read(0, sample), base::DataError);
}

}  // namespace
}  // namespace paceline::data
