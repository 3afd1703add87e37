#include "paceline/data/storage/input_file.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(LocalFile, DoesNotWaitForThePipesWriter) {
  const TempFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { LocalFile file(pipe); },
              ::testing::ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr(pipe), HasSubstr("not a regular file"))));
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

TEST(PartlyReadFile, ReadsOnlyWhatIsNotThere) {
  const TempFolder folder;
  const LocalFile file(folder.write("a", "0123456789"));
  const std::string known = "DEF";
  const PartlyReadFile partly(file, 3,
                              {reinterpret_cast<const std::uint8_t*>(known.data()), known.size()});
  EXPECT_EQ(partly.size(), 10u);
  const auto text = [&](std::uint64_t offset, std::size_t size) {
    std::string result(size, ' ');
    partly.read(offset, {reinterpret_cast<std::uint8_t*>(result.data()), size});
    return result;
  };
  EXPECT_EQ(text(3, 3), "DEF");
  EXPECT_EQ(text(4, 1), "E");
  EXPECT_EQ(text(2, 2), "23");
  EXPECT_EQ(text(5, 2), "56");
  EXPECT_EQ(text(8, 2), "89");
}

}  // namespace
}  // namespace paceline::data
