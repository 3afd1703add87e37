#include "paceline/dataset_tools/prepare/obtain.h"

#include "paceline/base/error.h"
#include "support/data/fake_storage.h"
#include "support/data/tar_files.h"
#include "support/power_loss_file_system.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"
#include "unit/dataset_tools/prepare/md5_of.h"

#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// As ImageNet: two files and one of several lists.
KnownSet set_of_files() {
  return {.name = "photos",
          .format = "ilsvrc2012",
          .files = {{"train.tar", "", md5_of("train")},
                    {"val.tar", "", md5_of("val")},
                    {"kit.tar.gz", "", "", 0, true},
                    {"val.txt", "", "", 0, true}},
          .how_to_get = "ask their owners"};
}

/// As Tiny-ImageNet: an archive to unpack, with a list of the classes of val.
class ArchiveTest : public ::testing::Test {
 protected:
  ArchiveTest() { make_archive("b.JPEG\tn2\t0\t0\na.JPEG\tn1\t0\t0\n"); }

  void make_archive(const std::string& annotations) {
    const std::string archive =
        base::read_file(data::write_tar(folder_.path() / "source" / "set.zip",
                                        {{"set/train/n1/images/x.JPEG", "x"},
                                         {"set/train/n2/images/y.JPEG", "y"},
                                         {"set/val/images/a.JPEG", "a"},
                                         {"set/val/images/b.JPEG", "b"},
                                         {"set/val/val_annotations.txt", annotations}},
                                        "zip"));
    storage_->files["https://host/set.zip"] = archive;
    set_.files = {{"set.zip", "https://host/set.zip", md5_of(archive)}};
  }

  ImageSource obtain(const std::string& from, const data::Storage& storage) {
    return obtain_images(set_, from, locate_files(set_, from, storage), storage, options_, files_,
                         {});
  }
  void expect_unpacked(const ImageSource& source) {
    EXPECT_EQ(source.format, "image_folder");
    EXPECT_EQ(source.path, (options_.folder / "unpacked/set").string());
    const fs::path root = source.path;
    EXPECT_EQ(base::read_file(root / "train/n1/images/x.JPEG"), "x");
    EXPECT_EQ(base::read_file(root / "val/n1/a.JPEG"), "a");
    EXPECT_EQ(base::read_file(root / "val/n2/b.JPEG"), "b");
    EXPECT_FALSE(fs::exists(root / "val/images"));
  }

  const test::TempFolder folder_;
  KnownSet set_{.name = "set", .format = "image_folder", .folder_in_archive = "set"};
  const std::shared_ptr<test::FakeStorage> storage_ = std::make_shared<test::FakeStorage>();
  ObtainOptions options_{.folder = folder_.path() / "downloads", .look_every_s = 0.01};
  base::RealFileSystem files_;
};

TEST_F(ArchiveTest, IsFetchedUnpackedAndSorted) {
  expect_unpacked(obtain("", *storage_));
  EXPECT_TRUE(fs::exists(options_.folder / "set.zip"));
}

TEST_F(ArchiveTest, IsFoundAgain) {
  obtain("", *storage_);
  const int reads = storage_->num_reads;
  const auto made = fs::last_write_time(options_.folder / "unpacked");
  expect_unpacked(obtain("", *storage_));
  EXPECT_EQ(storage_->num_reads, reads);
  EXPECT_EQ(fs::last_write_time(options_.folder / "unpacked"), made);
}

TEST_F(ArchiveTest, IsUnpackedAnewAfterAnInterruption) {
  folder_.write("downloads/unpacked.partial/set/train/n9/z.JPEG", "left over");
  const ImageSource source = obtain("", *storage_);
  expect_unpacked(source);
  EXPECT_FALSE(fs::exists(fs::path(source.path) / "train/n9"));
}

TEST_F(ArchiveTest, OfThisMachineIsReadInItsPlace) {
  for (const fs::path& from : {folder_.path() / "source", folder_.path() / "source/set.zip"}) {
    fs::remove_all(options_.folder);
    expect_unpacked(obtain(from, *data::local_storage()));
    EXPECT_FALSE(fs::exists(options_.folder / "set.zip"));
  }
}

TEST_F(ArchiveTest, OfThisMachineIsCheckedToo) {
  folder_.write("source/set.zip", "no such archive");
  EXPECT_THROW(obtain(folder_.path() / "source", *data::local_storage()), base::DataError);
  EXPECT_FALSE(fs::exists(options_.folder / "ready.txt"));
}

TEST_F(ArchiveTest, IsRefusedIfItsListIsWrong) {
  for (const std::string list :
       {"b.JPEG\tn2\n", "b.JPEG\tn2\na.JPEG\t../x\n", "b.JPEG\tn2\na.JPEG\t..\n",
        "b.JPEG\tn2\na.JPEG\n", "c.JPEG\tn1\n"}) {
    fs::remove_all(options_.folder);
    make_archive(list);
    try {
      obtain("", *storage_);
      FAIL() << list;
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("val_annotations.txt"));
    }
    EXPECT_FALSE(fs::exists(options_.folder / "unpacked"));
  }
}

TEST_F(ArchiveTest, IsWaitedForByOtherParts) {
  std::string said;
  ImageSource source;
  {
    const std::jthread other([&] {
      ObtainOptions options = options_;
      options.is_first = false;
      const WorkReports reports{.say = [&](const std::string& what) { said = what; }};
      base::RealFileSystem files;
      source = obtain_images(set_, "", locate_files(set_, "", *storage_), *storage_, options, files,
                             reports);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    obtain("", *storage_);
  }
  expect_unpacked(source);
  EXPECT_THAT(said, HasSubstr("waiting for"));
  EXPECT_EQ(storage_->num_reads, 1);
}

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    for (const char* name : {"train", "val"}) storage_->files[kPlace + "/" + name + ".tar"] = name;
    storage_->files[kPlace + "/val.txt"] = "labels";
  }
  std::vector<std::string> locate(const std::string& from) {
    std::vector<std::string> paths;
    for (const LocatedFile& file : locate_files(set_, from, *storage_)) paths.push_back(file.path);
    return paths;
  }

  const std::string kPlace = "s3://bucket/photos";
  const KnownSet set_ = set_of_files();
  const std::shared_ptr<test::FakeStorage> storage_ = std::make_shared<test::FakeStorage>();
};

TEST_F(FilesTest, AreFoundInAPlace) {
  EXPECT_THAT(locate(kPlace),
              ElementsAre(kPlace + "/train.tar", kPlace + "/val.tar", kPlace + "/val.txt"));
  EXPECT_THAT(locate(kPlace + "/"), SizeIs(3));
}

TEST_F(FilesTest, ThatAreMissingAreNamed) {
  storage_->files.erase(kPlace + "/val.tar");
  storage_->files.erase(kPlace + "/val.txt");
  try {
    locate(kPlace);
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("val.tar and one of kit.tar.gz, val.txt is not there"));
  }
}

TEST_F(FilesTest, InAnotherFormAreReadInTheirPlace) {
  storage_->files = {{"hf:owner/photos/train-0.parquet", "x"}};
  EXPECT_THAT(locate("hf:owner/photos"), IsEmpty());
  base::RealFileSystem files;
  const ImageSource source = obtain_images(set_, "hf:owner/photos", {}, *storage_, {}, files, {});
  EXPECT_EQ(source.format, "");
  EXPECT_EQ(source.path, "hf:owner/photos");
}

TEST_F(FilesTest, WithoutAPublicAddressAreExplained) {
  try {
    locate("");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_STREQ(error.what(), "photos has no public address: ask their owners");
  }
}

TEST_F(FilesTest, AreFetchedTogether) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  std::vector<std::string> told;
  const WorkReports reports{
      .progress = [&](std::string_view what, std::int64_t done, std::int64_t total) {
        EXPECT_LE(done, total);
        if (done == total) told.emplace_back(what);
      }};
  const ImageSource source =
      obtain_images(set_, kPlace, locate_files(set_, kPlace, *storage_), *storage_,
                    {.folder = folder.path() / "downloads"}, files, reports);
  EXPECT_EQ(source.format, "ilsvrc2012");
  EXPECT_EQ(source.path, (folder.path() / "downloads").string());
  EXPECT_EQ(base::read_file(folder.path() / "downloads/val.tar"), "val");
  EXPECT_EQ(base::read_file(folder.path() / "downloads/val.txt"), "labels");
  EXPECT_THAT(told, ElementsAre("MB of train.tar", "MB of val.tar", "MB of val.txt"));
}

TEST_F(ArchiveTest, IsWholeOrMadeAgainAfterAPowerLoss) {
  const std::string archive = base::read_file(
      data::write_tar(folder_.path() / "source" / "set.zip", {{"set/n1/x.JPEG", "x"}}, "zip"));
  storage_->files["https://host/set.zip"] = archive;
  set_.files = {{"set.zip", "https://host/set.zip", md5_of(archive)}};
  const auto obtain_below = [&](const fs::path& root, base::FileSystem& files) {
    ObtainOptions options = options_;
    options.folder = root / "downloads";
    return obtain_images(set_, "", locate_files(set_, "", *storage_), *storage_, options, files,
                         {});
  };
  const test::PowerLossScenario scenario{
      .run = [&](test::PowerLossFileSystem& files, const fs::path& root) {
        files.expect([&](const fs::path& disk) -> std::string {
          try {
            test::UnsyncedFileSystem unsynced;
            const fs::path images = obtain_below(disk, unsynced).path;
            return base::read_file(images / "n1/x.JPEG") == "x" ? "" : "it is damaged";
          } catch (const base::Error& error) {
            return error.what();
          }
        });
        obtain_below(root, files);
      }};
  EXPECT_EQ(problem_of(scenario), "");
  EXPECT_THAT(syncs_without_need(scenario),
              ElementsAre("sync_directory downloads", "sync downloads/ready.txt.tmp-",
                          "sync_directory downloads (2)"))
      << "what is lost without these is only made again";
}

}  // namespace
}  // namespace paceline::dataset_tools
