#include "paceline/data/input_file.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(LocalFile, ReadsAtAnyPlace) {
  const TempFolder folder;
  LocalFile opened(folder.write("a", "0123456789"));
  const LocalFile file = std::move(opened);
  EXPECT_EQ(file.size(), 10u);
  std::vector<std::uint8_t> bytes(3);
  file.read(7, bytes);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "789");
  file.read(0, bytes);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "012");
}

TEST(ReadInPieces, FillsTheTarget) {
  const TempFolder folder;
  const LocalFile file(folder.write("a", "0123456789"));
  for (const std::uint64_t piece_bytes : {1, 3, 4, 8, 20}) {
    std::string text(8, ' ');
    read_in_pieces(file, 1, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()},
                   piece_bytes, 3);
    EXPECT_EQ(text, "12345678") << piece_bytes;
  }
}

TEST(LocalFile, NamesTheFileAndThePlace) {
  const TempFolder folder;
  const LocalFile file(folder.write("short", "0123456789"));
  std::vector<std::uint8_t> bytes(4);
  EXPECT_THAT([&] { file.read(8, bytes); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("short"), HasSubstr("byte 10"), HasSubstr("2 bytes before"))));
  EXPECT_THAT(
      [&] { LocalFile(folder.path() / "absent"); },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("absent"), HasSubstr("No such file"))));
  EXPECT_THAT([&] { LocalFile(folder.path()); },
              ThrowsMessage<base::DataError>(HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace paceline::data
