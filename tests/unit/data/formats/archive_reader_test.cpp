#include "paceline/data/formats/archive_reader.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "support/data/tar_files.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <cerrno>

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;

void write_tar_gz(const std::filesystem::path& path) {
  archive* const writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_pax_restricted(writer);
  ASSERT_EQ(archive_write_open_filename(writer, path.c_str()), ARCHIVE_OK);
  for (const std::string name : {"top/one", "top/deep/two", "three"}) {
    const std::string content = "content of " + name + std::string(3'000'000, 'x');
    archive_entry* const header = archive_entry_new();
    archive_entry_set_pathname(header, name.c_str());
    archive_entry_set_size(header, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(header, AE_IFREG);
    archive_write_header(writer, header);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(header);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

TEST(ReadArchiveMembers, GivesThoseAskedForByBaseName) {
  const TempFolder folder;
  write_tar_gz(folder.path() / "a.tar.gz");
  const auto members = read_archive_members(folder.path() / "a.tar.gz", {"two", "three", "four"});
  ASSERT_EQ(members.size(), 2u);
  const auto& two = members.at("two");
  EXPECT_EQ(std::string(two.begin(), two.begin() + 23), "content of top/deep/two");
  EXPECT_EQ(two.size(), 3'000'023u);
  const std::string bytes = base::read_file(folder.path() / "a.tar.gz");
  EXPECT_EQ(read_archive_members(bytes, "a.tar.gz", {"two", "three", "four"}), members);
}

TEST(ReadArchiveMembers, NamesADamagedArchiveInMemory) {
  EXPECT_THAT([] { read_archive_members("no archive", "s3://b/a.tar.gz", {"a"}); },
              ::testing::ThrowsMessage<base::DataError>(::testing::HasSubstr("s3://b/a.tar.gz")));
}

TEST(ReadArchiveMembers, NamesADamagedOrMissingArchive) {
  const TempFolder folder;
  for (const char* name : {"text.tar.gz", "absent.tar.gz"}) {
    if (std::string(name) == "text.tar.gz") folder.write(name, "no archive");
    try {
      read_archive_members(folder.path() / name, {"a"});
      FAIL();
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
    }
  }
}

TEST(UnpackArchive, MakesFoldersAndFiles) {
  const TempFolder folder;
  base::RealFileSystem files;
  std::int64_t done = 0;
  for (const char* format : {"zip", "gnutar"}) {
    const auto archive =
        write_tar(folder.path() / "archive",
                  {{"top/", ""}, {"top/a/b/one.txt", "1"}, {"./two", "22"}}, format);
    const auto unpacked = folder.path() / format;
    unpack_archive(archive, unpacked, files, [&](std::int64_t now) { done = now; });
    EXPECT_EQ(done, 3);
    EXPECT_EQ(base::read_file(unpacked / "top/a/b/one.txt"), "1");
    EXPECT_EQ(base::read_file(unpacked / "two"), "22");
  }
}

TEST(UnpackArchive, RefusesPathsThatLeaveTheFolder) {
  const TempFolder folder;
  base::RealFileSystem files;
  for (const std::string path : {"../evil", "a/../../evil", "/tmp/paceline-evil"}) {
    const auto archive = write_tar(folder.path() / "archive.tar", {{"good", "1"}, {path, "2"}});
    try {
      unpack_archive(archive, folder.path() / "out", files);
      FAIL() << path;
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("'" + path + "' in it leads out"));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "evil"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/paceline-evil"));
}

TEST(UnpackArchive, RefusesLinks) {
  const TempFolder folder;
  const auto path = folder.path() / "linked.tar";
  archive* const writer = archive_write_new();
  archive_write_set_format_ustar(writer);
  archive_write_open_filename(writer, path.c_str());
  archive_entry* const header = archive_entry_new();
  archive_entry_set_pathname(header, "link");
  archive_entry_set_filetype(header, AE_IFLNK);
  archive_entry_set_symlink(header, "/etc");
  archive_write_header(writer, header);
  archive_entry_free(header);
  archive_write_free(writer);
  base::RealFileSystem files;
  EXPECT_THROW(unpack_archive(path, folder.path() / "out", files), base::DataError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "out"));
}

TEST(UnpackArchive, TellsOfAFullDisk) {
  const TempFolder folder;
  const auto archive = write_tar(folder.path() / "a.tar", {{"file", std::string(5000, 'x')}});
  test::FaultyFileSystem files;
  files.fill_disk_after(1000);
  EXPECT_THROW(unpack_archive(archive, folder.path() / "out", files), base::FileError);
}

TEST(ReadArchiveMembers, RefusesAMemberThatIsFarTooLarge) {
  const TempFolder folder;
  write_tar_gz(folder.path() / "a.tar.gz");
  EXPECT_EQ(read_archive_members(folder.path() / "a.tar.gz", {"two"}, 4'000'000).size(), 1u);
  EXPECT_THAT([&] { read_archive_members(folder.path() / "a.tar.gz", {"two"}, 1'000'000); },
              ::testing::ThrowsMessage<base::DataError>(::testing::AllOf(
                  ::testing::HasSubstr("a.tar.gz"), ::testing::HasSubstr("top/deep/two"))));
}

TEST(UnpackArchive, RefusesABomb) {
  const TempFolder folder;
  write_tar_gz(folder.path() / "bomb.tar.gz");  // 9 MB that shrink to a few KB
  base::RealFileSystem files;
  unpack_archive(folder.path() / "bomb.tar.gz", folder.path() / "harmless", files);
  EXPECT_THAT(
      [&] {
        unpack_archive(folder.path() / "bomb.tar.gz", folder.path() / "out", files, {}, 4'000'000);
      },
      ::testing::ThrowsMessage<base::DataError>(::testing::AllOf(
          ::testing::HasSubstr("'top/deep/two'"), ::testing::HasSubstr("a hundred times"))));
}

}  // namespace
}  // namespace paceline::data
