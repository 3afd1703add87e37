#include "paceline/pretrained/partial_file.h"

#include "support/temp_folder.h"

#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

constexpr const char* kSumOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(PartialFile, GoesOnWithWhatIsThere) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  const auto path = folder.write("x.incomplete", "ab");
  PartialFile partial(files, path);
  EXPECT_EQ(partial.size(), 2u);
  std::uint64_t told = 0;
  partial.watch([&](std::uint64_t size) { told = size; });
  partial.append("c");
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(partial.sha256(), kSumOfAbc);
  partial.become(folder.path() / "blobs" / "x");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(base::read_file(folder.path() / "blobs" / "x"), "abc");
  EXPECT_EQ(sha256_of_file(folder.path() / "blobs" / "x"), kSumOfAbc);
}

TEST(PartialFile, StartsAgain) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  PartialFile partial(files, folder.write("x.incomplete", "of another file"));
  partial.restart();
  EXPECT_EQ(partial.size(), 0u);
  partial.append("abc");
  EXPECT_EQ(partial.sha256(), kSumOfAbc);
  partial.become(folder.path() / "x");
  EXPECT_EQ(base::read_file(folder.path() / "x"), "abc");
}

TEST(PartialFile, IsGoneWhenDiscarded) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  PartialFile partial(files, folder.path() / "x.incomplete");
  partial.append("abc");
  partial.discard();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.incomplete"));
}

}  // namespace
}  // namespace paceline::pretrained
