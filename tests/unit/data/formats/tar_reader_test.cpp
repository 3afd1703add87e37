#include "paceline/data/formats/tar_reader.h"

#include "paceline/base/error.h"
#include "support/data/mutations.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t kBlock = TarReader::kBlockBytes;

std::vector<TarMember> list(const InputFile& file) {
  TarReader reader(file);
  std::vector<TarMember> members;
  for (TarMember member; reader.next(member);) members.push_back(member);
  return members;
}

std::string content_of(const InputFile& file, const TarMember& member) {
  std::vector<std::uint8_t> bytes(member.size);
  file.read(member.offset, bytes);
  return {bytes.begin(), bytes.end()};
}

/// Contents of many sizes, and names as long as a format allows.
TarContent members_for(const std::string& format) {
  TarContent members = {{"empty", ""},
                        {"one.txt", "1"},
                        {"folder/", ""},
                        {"block", std::string(512, 'b')},
                        {"folder/more", std::string(5000, 'm')}};
  if (format != "v7tar") {  // splits into ustar's prefix and name
    members.emplace_back(std::string(90, 'p') + "/" + std::string(60, 'n'), "split");
  }
  if (format == "gnutar" || format == "pax") {
    members.emplace_back(std::string(300, 'd') + "/" + std::string(200, 'l'), "long");
  }
  members.emplace_back("last", "end");
  return members;
}

class TarFormat : public ::testing::TestWithParam<const char*> {};

TEST_P(TarFormat, ListsTheFilesAndWhereTheirBytesLie) {
  const TempFolder folder;
  TarContent expected = members_for(GetParam());
  const LocalFile file(write_tar(folder.path() / "a.tar", expected, GetParam()));
  std::erase_if(expected, [](const auto& member) { return member.first.ends_with('/'); });
  const std::vector<TarMember> members = list(file);
  ASSERT_EQ(members.size(), expected.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(members[i].name, expected[i].first);
    EXPECT_EQ(content_of(file, members[i]), expected[i].second);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, TarFormat, ::testing::Values("ustar", "gnutar", "pax", "v7tar"),
                         [](const auto& format) { return std::string(format.param); });

/// Writes the checksum of the header at `at`.
void mend_checksum(std::string& tar, std::size_t at) {
  if (at + kBlock > tar.size()) return;
  tar.replace(at + 148, 8, 8, ' ');
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(tar[at + i]);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  tar.replace(at + 148, 8, std::string(text, 7) + ' ');
}

class TarHeader : public ::testing::Test {
 protected:
  /// A tar of "first" and "second" whose first header is changed at `at`.
  std::string with(std::size_t at, const std::string& text) const {
    std::string tar = sound_;
    tar.replace(at, text.size(), text);
    mend_checksum(tar, 0);
    return tar;
  }
  std::vector<TarMember> list_bytes(const std::string& tar) const {
    return list(LocalFile(folder_.write("changed.tar", tar)));
  }

  TempFolder folder_;
  const std::string sound_ =
      tar_bytes(folder_.path() / "sound.tar", {{"first", "1"}, {"second", "22"}});
};

TEST_F(TarHeader, TakesNumbersInAllSpellings) {
  for (const std::string& size :
       {std::string("00000000001\0", 12), std::string("          1 "),
        std::string("1\0 garbage!!", 12), std::string("\x80\0\0\0\0\0\0\0\0\0\0\x01", 12)}) {
    const auto members = list_bytes(with(124, size));
    ASSERT_EQ(members.size(), 2u) << size;
    EXPECT_EQ(members[0].size, 1u);
  }
}

TEST_F(TarHeader, RefusesWhatMakesNoSense) {
  const auto refuses = [&](std::size_t at, const std::string& text, const std::string& problem) {
    EXPECT_THAT([&] { list_bytes(with(at, text)); },
                ThrowsMessage<base::DataError>(AllOf(
                    HasSubstr("changed.tar"), HasSubstr("header at byte 0"), HasSubstr(problem))))
        << text;
  };
  refuses(124, "00000000009", "not octal");
  refuses(124, "-0000000001", "not octal");
  refuses(124, "77777777777", "8589934591 bytes should follow, but only");
  refuses(124, std::string(12, '\xFF'), "negative");
  refuses(124, "\x80" + std::string(11, '\xFF'), "too large");
  refuses(156, "S", "sparse");
  refuses(0, std::string(5, '\0'), "without a name");
}

TEST_F(TarHeader, PassesOverLinksFoldersAndDevices) {
  for (const char type : std::string("123456")) {
    std::string tar = with(124, "00000000777");  // a size that counts for nothing
    tar[156] = type;
    tar.erase(kBlock, kBlock);
    mend_checksum(tar, 0);
    const auto members = list_bytes(tar);
    ASSERT_EQ(members.size(), 1u) << type;
    EXPECT_EQ(members[0].name, "second");
  }
}

TEST_F(TarHeader, VerifiesTheChecksum) {
  std::string tar = sound_;
  tar[2 * kBlock + 3] ^= 1;
  EXPECT_THAT([&] { list_bytes(tar); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("changed.tar"), HasSubstr("byte 1024"), HasSubstr("checksum"))));
}

TEST_F(TarHeader, TakesSignedChecksums) {
  std::string tar = with(0, "f\xE4rst");
  char text[8];
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned>(static_cast<signed char>(tar[i]));
  }
  std::snprintf(text, sizeof text, "%06o", sum);
  tar.replace(148, 8, std::string(text, 7) + ' ');
  EXPECT_EQ(list_bytes(tar).size(), 2u);
}

TEST_F(TarHeader, DropsTheDotBeforeNames) {
  EXPECT_EQ(list_bytes(with(0, std::string("././a\0", 6)))[0].name, "a");
}

TEST_F(TarHeader, FindsEveryTruncation) {
  const MemoryFile memory;
  // 1,024 bytes of members each, then the end mark's first block.
  for (std::size_t size = 1; size < 4 * kBlock + kBlock; size += 17) {
    const LocalFile file(memory.write(sound_.substr(0, size)));
    EXPECT_THROW(list(file), base::DataError) << size;
  }
  EXPECT_EQ(list_bytes(sound_.substr(0, 5 * kBlock)).size(), 2u);
}

TEST_F(TarHeader, SaysThatAnArchiveIsCompressed) {
  EXPECT_THAT([&] { list_bytes("\x1F\x8B" + std::string(600, 'x')); },
              ThrowsMessage<base::DataError>(HasSubstr("gunzip")));
}

TEST_F(TarHeader, PaxRecordsGiveTheSizeAndDamagedOnesAreRefused) {
  const auto with_pax = [&](const std::string& records) {
    std::string header = with(124, fmt::format("{:011o}", records.size())).substr(0, kBlock);
    header[156] = 'x';
    mend_checksum(header, 0);
    std::string body = records;
    body.resize((records.size() + kBlock - 1) / kBlock * kBlock);
    return list_bytes(header + body + with(124, "00000000000"));
  };
  const auto members = with_pax("10 size=1\n19 path=dir/better\n");
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].name, "dir/better");
  EXPECT_EQ(members[0].size, 1u);
  for (const char* records :
       {"8 size=1\n", "10 size=1 ", "99 size=1\n", "x", "0 a=b\n", "10 size:1\n", "10 size=x\n",
        "12 size=-12\n", "22 GNU.sparse.major=1\n"}) {
    EXPECT_THROW(with_pax(records), base::DataError) << records;
  }
}

TEST(TarReader, ReadsATarWithinATar) {
  const TempFolder folder;
  const std::string inner = tar_bytes(folder.path() / "inner.tar", {{"a", "AA"}, {"b", "BBB"}});
  const LocalFile file(
      write_tar(folder.path() / "outer.tar", {{"x", "1"}, {"inner.tar", inner}, {"y", "2"}}));
  const TarMember whole = list(file).at(1);
  TarReader reader(file, whole.offset, whole.size);
  TarMember member;
  ASSERT_TRUE(reader.next(member));
  EXPECT_EQ(content_of(file, member), "AA");
  ASSERT_TRUE(reader.next(member));
  EXPECT_EQ(content_of(file, member), "BBB");
  EXPECT_FALSE(reader.next(member));
  TarReader cut(file, whole.offset, 2 * kBlock);
  ASSERT_TRUE(cut.next(member));
  EXPECT_THROW(cut.next(member), base::DataError);
}

// Whatever is done to an archive: members inside the file, or a DataError.
TEST(TarReaderFuzz, StaysInsideTheFile) {
  const TempFolder folder;
  std::vector<std::string> sound;
  for (const char* format : {"ustar", "gnutar", "pax", "v7tar"}) {
    sound.push_back(tar_bytes(folder.path() / "sound.tar", members_for(format), format));
  }
  const MemoryFile memory;
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string tar = sound[random() % sound.size()];
    mutate(tar, random);
    // Otherwise the checksum would catch nearly all.
    for (std::size_t at = 0; random() % 4 != 0 && at < tar.size(); at += kBlock) {
      if (tar[at] != '\0') mend_checksum(tar, at);
    }
    const LocalFile file(memory.write(tar));
    try {
      for (const TarMember& member : list(file)) {
        ASSERT_LE(member.size, file.size());
        ASSERT_LE(member.offset, file.size() - member.size);
        ASSERT_FALSE(member.name.empty());
      }
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count * 9 / 10);
}

}  // namespace
}  // namespace paceline::data
