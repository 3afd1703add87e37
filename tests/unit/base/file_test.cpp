#include "paceline/base/file.h"

#include "support/faulty_file_system.h"
#include "support/power_loss_file_system.h"
#include "support/unsynced_file_system.h"

#include <cerrno>
#include <set>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace paceline::base {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(File, ReadsWhatWasWritten) {
  const TempDir folder;
  RealFileSystem files;
  const fs::path path = folder.path() / "a";
  const std::string text(200'000, 'x');
  write_file_atomically(files, path, text);
  EXPECT_EQ(read_file(path), text);
  write_file_atomically(files, path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
  EXPECT_FALSE(read_file("/proc/self/status").empty());  // a file that says its size is 0
}

TEST(File, AppendsAndEmpties) {
  const TempDir folder;
  RealFileSystem files;
  const fs::path path = folder.path() / "a";
  for (const char* text : {"one ", "two"}) {
    auto file = files.append(path);
    file->write(text);
    file->sync();
    file->close();
    file->close();
  }
  EXPECT_EQ(read_file(path), "one two");
  files.create(path)->close();
  EXPECT_EQ(read_file(path), "");
}

TEST(File, MakesRenamesAndRemovesFolders) {
  const TempDir folder;
  RealFileSystem files;
  files.create_directories(folder.path() / "a/b");
  files.create_directories(folder.path() / "a/b");
  files.rename(folder.path() / "a", folder.path() / "c");
  EXPECT_TRUE(fs::is_directory(folder.path() / "c/b"));
  files.sync_directory(folder.path());
  files.remove_all(folder.path() / "c");
  files.remove_all(folder.path() / "c");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(File, ErrorsNameThePathTheReasonAndTheCure) {
  const TempDir folder;
  const fs::path path = folder.path() / "none";
  try {
    read_file(path);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(), "cannot read " + path.string() +
                                ": No such file or directory; check the spelling of the path");
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.error_number(), ENOENT);
    EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint);
  }
  EXPECT_EQ(std::string(FileError("write", "/x", ENOSPC).what()),
            "cannot write /x: No space left on device; free some space, or choose a folder on "
            "another disk");
  EXPECT_EQ(std::string(FileError("create", "/x", EROFS).what()),
            "cannot create /x: Read-only file system; choose a folder on a disk that is mounted "
            "for writing");
  RealFileSystem files;
  EXPECT_THROW(read_file(folder.path()), FileError);
  EXPECT_THROW(files.create(folder.path()), FileError);
  EXPECT_THROW(files.rename(path, folder.path() / "b"), FileError);
  EXPECT_THROW(files.sync_directory(path), FileError);
  write_file_atomically(files, path, "x");
  EXPECT_THROW(files.create_directories(path / "below"), FileError);
}

TEST(File, AFailedWriteLeavesTheOldFileAndNoOther) {
  const TempDir folder;
  const fs::path path = folder.path() / "a";
  for (const std::string operation : {"create", "write", "sync", "close", "rename"}) {
    test::FaultyFileSystem files;
    write_file_atomically(files, path, "old");
    files.set_fault(
        [&](std::string_view name, const fs::path&) { return name == operation ? EROFS : 0; });
    EXPECT_THROW(write_file_atomically(files, path, "new"), FileError) << operation;
    EXPECT_EQ(read_file(path), "old") << operation;
    EXPECT_EQ(names_in(folder.path()).size(), 1u) << operation;
  }
}

TEST(File, AFullDiskIsReported) {
  const TempDir folder;
  const fs::path path = folder.path() / "a";
  test::FaultyFileSystem files;
  write_file_atomically(files, path, "old");
  files.fill_disk_after(3);
  try {
    write_file_atomically(files, path, "longer");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_EQ(error.error_number(), ENOSPC);
  }
  EXPECT_EQ(read_file(path), "old");
  files.free_disk();
  write_file_atomically(files, path, "longer");
  EXPECT_EQ(read_file(path), "longer");
}

// A planted link, pipe or device is neither followed nor replaced; what it points at stays as it
// is.
TEST(File, WritesIntoRegularFilesOnly) {
  const TempDir folder;
  RealFileSystem files;
  const fs::path victim = folder.path() / "victim";
  write_file_atomically(files, victim, "mine");
  const fs::path link = folder.path() / "link";
  fs::create_symlink(victim, link);
  const fs::path dangling = folder.path() / "dangling";
  fs::create_symlink(folder.path() / "made", dangling);
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const fs::path inner = folder.path() / "folder";
  files.create_directories(inner);
  const fs::path source = folder.path() / "source";
  for (const fs::path& path : {link, dangling, pipe, inner, fs::path("/dev/null")}) {
    const fs::file_type before = fs::symlink_status(path).type();
    EXPECT_THROW(write_file_atomically(files, path, "x"), FileError) << path;
    EXPECT_THROW(files.create(path), FileError) << path;
    EXPECT_THROW(files.append(path), FileError) << path;
    EXPECT_THROW(open_regular_file(path, O_RDWR), FileError) << path;
    files.create(source)->close();
    EXPECT_THROW(files.rename(source, path), FileError) << path;
    EXPECT_EQ(fs::symlink_status(path).type(), before) << path;
  }
  EXPECT_EQ(read_file(victim), "mine");
  EXPECT_FALSE(fs::exists(folder.path() / "made"));
  EXPECT_THAT([&] { files.append(link); },
              ThrowsMessage<FileError>(HasSubstr("is a symbolic link")));
  EXPECT_THAT([&] { read_file(pipe); }, ThrowsMessage<FileError>(HasSubstr("is a pipe")));
  EXPECT_THAT([&] { read_file("/dev/zero"); }, ThrowsMessage<FileError>(HasSubstr("is a device")));
  EXPECT_THAT([&] { MappedFile mapped(pipe); }, ThrowsMessage<FileError>(HasSubstr("is a pipe")));
}

TEST(File, AFolderMayBeReachedThroughALink) {
  const TempDir folder;
  RealFileSystem files;
  fs::create_directory(folder.path() / "disk");
  fs::create_directory_symlink(folder.path() / "disk", folder.path() / "run");
  write_file_atomically(files, folder.path() / "run/a", "x");
  files.append(folder.path() / "run/b")->write("y");
  files.create_directories(folder.path() / "run");
  files.create_directories(folder.path() / "run/c");
  EXPECT_EQ(read_file(folder.path() / "disk/a"), "x");
  EXPECT_EQ(read_file(folder.path() / "disk/b"), "y");
}

TEST(File, ANewFileLeavesTheOtherNamesOfTheOldOneAlone) {
  const TempDir folder;
  RealFileSystem files;
  write_file_atomically(files, folder.path() / "victim", "mine");
  fs::create_hard_link(folder.path() / "victim", folder.path() / "a");
  files.create(folder.path() / "a")->write("x");
  EXPECT_EQ(read_file(folder.path() / "victim"), "mine");
  EXPECT_EQ(read_file(folder.path() / "a"), "x");
}

TEST(File, TemporaryNamesCannotBePlanted) {
  const TempDir folder;
  std::set<std::string> names;
  test::FaultyFileSystem files([&](std::string_view operation, const fs::path& path) {
    if (operation == "create") names.insert(path.filename());
    return 0;
  });
  for (int i = 0; i < 3; ++i) write_file_atomically(files, folder.path() / "a", "x");
  EXPECT_EQ(names.size(), 3u);
}

TEST(File, WritingToARemovedFileIsAnError) {
  const TempDir folder;
  RealFileSystem files;
  const auto file = files.append(folder.path() / "a");
  file->write("x");
  fs::remove(folder.path() / "a");
  EXPECT_THAT([&] { file->write("y"); }, ThrowsMessage<FileError>(HasSubstr("it was removed")));
  EXPECT_THAT([&] { file->sync(); }, ThrowsMessage<FileError>(HasSubstr("it was removed")));
}

// Whoever tries again, as a logger does, would fill the disk with a file that nobody can see.
TEST(File, ARemovedFileDoesNotGrow) {
  const TempDir folder;
  RealFileSystem files;
  const auto file = files.append(folder.path() / "a");
  file->write("x");
  fs::remove(folder.path() / "a");
  const auto size_of_open_file = [&] {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const std::string target = fs::read_symlink(entry, error).string();
      if (target == (folder.path() / "a").string() + " (deleted)") return fs::file_size(entry);
    }
    return std::uintmax_t{0};
  };
  for (int i = 0; i < 3; ++i) EXPECT_THROW(file->write("yyy"), FileError);
  EXPECT_EQ(size_of_open_file(), 1u);
}

TEST(File, WritesThroughNoHardLink) {
  const TempDir folder;
  RealFileSystem files;
  write_file_atomically(files, folder.path() / "victim", "mine");
  const fs::path link = folder.path() / "link";
  fs::create_hard_link(folder.path() / "victim", link);
  EXPECT_THAT([&] { files.append(link); }, ThrowsMessage<FileError>(HasSubstr("is a hard link")));
  EXPECT_THAT([&] { open_regular_file(link, O_RDWR); },
              ThrowsMessage<FileError>(HasSubstr("is a hard link")));
  EXPECT_EQ(read_file(folder.path() / "victim"), "mine");
  write_file_atomically(files, link, "x");  // a new file takes the name
  EXPECT_EQ(read_file(folder.path() / "victim"), "mine");
}

TEST(File, ReadsNoMoreThanAsked) {
  const TempDir folder;
  RealFileSystem files;
  write_file_atomically(files, folder.path() / "a", "12345");
  EXPECT_EQ(read_file(folder.path() / "a", 5), "12345");
  EXPECT_THAT([&] { read_file(folder.path() / "a", 4); },
              ThrowsMessage<FileError>(HasSubstr("more than 4 bytes")));
  EXPECT_THROW(read_file("/proc/self/status", 10), FileError);
}

TEST(File, MapsFiles) {
  const TempDir folder;
  RealFileSystem files;
  write_file_atomically(files, folder.path() / "a", "bytes");
  write_file_atomically(files, folder.path() / "empty", "");
  MappedFile file(folder.path() / "a");
  EXPECT_EQ(file.bytes(), "bytes");
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes(), "bytes");
  moved = MappedFile(folder.path() / "empty");
  EXPECT_EQ(moved.bytes(), "");
  EXPECT_THROW(MappedFile(folder.path() / "none"), FileError);
  EXPECT_THROW(MappedFile{folder.path()}, FileError);
}

TEST(File, ATempDirGoesWithItsObject) {
  fs::path path;
  {
    TempDir first("test");
    path = first.path();
    RealFileSystem files;
    write_file_atomically(files, path / "a", "x");
    const TempDir second = std::move(first);
    EXPECT_EQ(second.path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(File, AMappingKnowsWhetherItsFileIsWhole) {
  const TempDir folder;
  RealFileSystem files;
  write_file_atomically(files, folder.path() / "a", "bytes");
  const MappedFile file(folder.path() / "a");
  EXPECT_TRUE(file.is_whole());
  fs::remove(folder.path() / "a");
  EXPECT_TRUE(file.is_whole()) << "it lives as long as it is mapped";
  write_file_atomically(files, folder.path() / "b", "bytes");
  MappedFile other(folder.path() / "b");
  fs::resize_file(folder.path() / "b", 4);
  EXPECT_FALSE(other.is_whole());
  const MappedFile moved = std::move(other);
  EXPECT_FALSE(moved.is_whole());
  EXPECT_TRUE(MappedFile().is_whole());
}

TEST(FilePowerLoss, AFileIsTheOldOrTheNewOne) {
  const auto holds = [](const std::string& least) {
    return [least](const fs::path& disk) -> std::string {
      if (!fs::exists(disk / "a")) return "it is not there";
      const std::string text = read_file(disk / "a");
      return text == "new text" || text == least ? "" : "it holds '" + text + "'";
    };
  };
  test::expect_durable({.prepare =
                            [](const fs::path& root) {
                              test::UnsyncedFileSystem files;
                              write_file_atomically(files, root / "a", "old");
                            },
                        .run =
                            [&](test::PowerLossFileSystem& files, const fs::path& root) {
                              files.expect(holds("old"));
                              write_file_atomically(files, root / "a", "new text");
                              files.expect(holds("new text"));
                            }});
}

TEST(File, SaysWhyFoldersCannotBeMade) {
  const TempDir folder;
  RealFileSystem files;
  const fs::path path = folder.path() / std::string(300, 'x') / "a";
  EXPECT_THAT([&] { create_durable_directories(files, path); },
              ThrowsMessage<FileError>(HasSubstr("File name too long")));
}

TEST(FilePowerLoss, FoldersAreThereOnceTheyAreMade) {
  test::expect_durable({.run = [](test::PowerLossFileSystem& files, const fs::path& root) {
    create_durable_directories(files, root / "a/b/c");
    files.expect([](const fs::path& disk) {
      return fs::is_directory(disk / "a/b/c") ? "" : "they are not there";
    });
  }});
}

}  // namespace
}  // namespace paceline::base
