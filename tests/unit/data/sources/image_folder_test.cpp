#include "paceline/data/sources/image_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/same_samples.h"
#include "support/temp_folder.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const fs::path& path, const std::string& split) {
  try {
    open_image_folder(path, split, "train");
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "no DataError";
}

TEST(ImageFolder, GivesTheFilesBytesAndLabels) {
  const TempFolder folder;
  folder.write("train/cat/1.jpg", "cat one");
  folder.write("train/dog/1.png", "");
  const auto images = open_image_folder(folder.path(), "train", "train");
  EXPECT_EQ(images->size(), 2);
  EXPECT_THAT(images->class_names(), ElementsAre("cat", "dog"));
  StoredSample sample;
  images->get(0, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "cat one");
  EXPECT_EQ(sample.label, 0);
  EXPECT_EQ(sample.width, 0);
  images->get(1, sample);
  EXPECT_TRUE(sample.bytes.empty());
  EXPECT_EQ(sample.label, 1);
  EXPECT_EQ(images->describe(1), (folder.path() / "train/dog/1.png").string());
  EXPECT_EQ(images->name(0), "1.jpg");
}

TEST(ImageFolder, AClassMayBeCalledAsARemotePathBegins) {
  const TempFolder folder;
  folder.write("train/hf:cat/1.jpg", "cat one");
  folder.write("train/s3:/dog/1.jpg", "dog one");
  const auto images = open_image_folder(folder.path(), "train", "train");
  EXPECT_THAT(images->class_names(), ElementsAre("hf:cat", "s3:"));
  StoredSample sample;
  images->get(0, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "cat one");
  EXPECT_EQ(images->describe(0), (folder.path() / "train/hf:cat/1.jpg").string());
  images->get(1, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "dog one");
}

TEST(ImageFolder, ValidationLabelsAreThoseOfTraining) {
  const TempFolder folder;
  for (const char* name : {"train/a/1.jpg", "train/b/1.jpg", "train/c/1.jpg", "val/c/1.jpg"}) {
    folder.write(name, "x");
  }
  const auto images = open_image_folder(folder.path(), "val", "train");
  EXPECT_EQ(images->num_classes(), 3);
  EXPECT_EQ(images->label(0), 2);
  folder.write("val/zebra/1.jpg", "x");
  EXPECT_THAT(error_of(folder.path(), "val"), AllOf(HasSubstr("zebra"), HasSubstr("training")));
}

TEST(ImageFolder, OpensValidationAlone) {
  const TempFolder folder;
  folder.write("val/a/1.jpg", "x");
  EXPECT_EQ(open_image_folder(folder.path(), "val", "train")->num_classes(), 1);
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const TempFolder folder;
  EXPECT_THAT(error_of(folder.path() / "absent", "train"),
              AllOf(HasSubstr("absent: no such folder"), HasSubstr("data.path")));
  EXPECT_THAT(error_of(folder.path(), "train"), HasSubstr("train: no such folder"));
  folder.write("train/1.jpg", "x");
  EXPECT_THAT(error_of(folder.path(), "train"), HasSubstr("no class folders, but images"));
}

TEST(ImageFolder, NamesAFileThatVanished) {
  const TempFolder folder;
  const fs::path file = folder.write("train/a/1.jpg", "x");
  const auto images = open_image_folder(folder.path(), "train", "train");
  fs::remove(file);
  StoredSample sample;
  try {
    images->get(0, sample);
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(file.string()), HasSubstr("No such file")));
  }
}

class CachedFolder : public ::testing::Test {
 protected:
  CachedFolder() {
    data_.write("train/a/1.jpg", "x");
    age();
    ::setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
  }
  ~CachedFolder() override { ::unsetenv("XDG_CACHE_HOME"); }

  void age() const {
    const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(data_.path() / "train/a", hour_ago);
    fs::last_write_time(data_.path() / "train", hour_ago);
  }

  TempFolder data_;
  TempFolder cache_;
  const fs::path index_ = data_.path() / ".paceline-train.index";
};

TEST_F(CachedFolder, KeepsItsIndexBesideTheData) {
  const auto first = open_image_folder(data_.path(), "train", "train");
  EXPECT_TRUE(fs::exists(index_));
  EXPECT_TRUE(fs::is_empty(cache_.path()));
  const auto written = fs::last_write_time(index_);
  const auto second = open_image_folder(data_.path(), "train", "train");
  EXPECT_EQ(fs::last_write_time(index_), written);
  EXPECT_EQ(first->fingerprint(), second->fingerprint());
}

TEST_F(CachedFolder, ListsAgainWhenAFolderChanged) {
  const std::string before = open_image_folder(data_.path(), "train", "train")->fingerprint();
  data_.write("train/a/2.jpg", "x");
  const auto images = open_image_folder(data_.path(), "train", "train");
  EXPECT_EQ(images->size(), 2);
  EXPECT_NE(images->fingerprint(), before);
}

TEST_F(CachedFolder, MakesAnIndexAnewThatIsDamagedOrOfAnotherForm) {
  const std::string before = open_image_folder(data_.path(), "train", "train")->fingerprint();
  const std::string sound = base::read_file(index_);
  std::string damaged = sound;
  damaged[damaged.size() - 1] = '?';
  for (const std::string& content :
       {damaged, sound.substr(0, 50), std::string(), "PLIMGIX4" + std::string(200, '\0')}) {
    data_.write(index_.filename().string(), content);
    EXPECT_EQ(open_image_folder(data_.path(), "train", "train")->fingerprint(), before);
    EXPECT_EQ(base::read_file(index_), sound);
  }
}

TEST_F(CachedFolder, UsesTheUsersCacheWhereTheDataCannotBeWritten) {
  // A folder in the index's place stops root too, for whom permissions do not count.
  data_.write(".paceline-train.index/in-the-way", "x");
  const auto images = open_image_folder(data_.path(), "train", "train");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(cache_.path() / "paceline")) {
    EXPECT_THAT(entry.path().string(), HasSubstr("-train.index"));
    ++files;
  }
  EXPECT_EQ(files, 1);
  EXPECT_EQ(open_image_folder(data_.path(), "train", "train")->size(), 1);
}

TEST(ImageFolder, OfAnotherMachineIsTheSame) {
  const paceline::test::CacheHome home;
  const TempFolder folder;
  for (int i = 0; i < 30; ++i)
    folder.write(fmt::format("train/{}/{}/{}.jpg", i % 3, i % 2, i), std::string(i * 50u, 'x'));
  const auto storage = test::copy_of(folder.path(), "gs://b/set");
  const auto there = open_image_folder("gs://b/set", "train", "train", storage);
  const auto here = open_image_folder(folder.path(), "train", "train");
  test::expect_same_samples(*there, *here);
  EXPECT_EQ(there->describe(0), "gs://b/set/train/0/0/0.jpg");
  EXPECT_EQ(storage->num_opened, 0) << "sizes are known from the list";
  EXPECT_EQ(storage->num_lists, 2 + 3 + 6);
  EXPECT_THAT([&] { open_image_folder("gs://b/set", "valid", "train", storage); },
              ::testing::ThrowsMessage<base::DataError>(HasSubstr("gs://b/set/valid/<class>/")));
}

TEST(ImageFolder, OfAnotherMachineIsListedByOneOfTheProcessesThatStartTogether) {
  const paceline::test::CacheHome home;
  const TempFolder folder;
  folder.write("train/a/1.jpg", "one");
  folder.write("train/b/2.jpg", "number two");
  folder.write("train/b/notes.txt", "x");
  const auto storage = test::copy_of(folder.path(), "gs://b/set");
  storage->latency = std::chrono::milliseconds(100);
  const auto lists_of = [&](int num_processes) {
    storage->num_lists = 0;
    std::vector<std::thread> processes;
    for (int i = 0; i < num_processes; ++i) {
      processes.emplace_back([&] {
        const auto images =
            open_image_folder("gs://b/set", "train", std::vector<std::string>{"a", "b"}, storage);
        EXPECT_EQ(images->left_out().count, 1);
        StoredSample sample;
        images->get(1, sample);
        EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()), "number two");
      });
    }
    for (std::thread& process : processes) process.join();
    return storage->num_lists.load();
  };
  const int alone = lists_of(1);
  EXPECT_GT(alone, 0);
  EXPECT_EQ(lists_of(4), alone);
  EXPECT_EQ(storage->num_opened, 0) << "facts are shared, too";
}

TEST(ImageFolder, ReadsAheadFromANetworkDisk) {
  const paceline::test::CacheHome home;
  const TempFolder folder;
  for (int i = 0; i < 200; ++i)
    folder.write(fmt::format("train/a/{:03}.jpg", i), fmt::format("content of {}", i));
  const auto disk = paceline::test::copy_of(folder.path(), folder.path().string());
  disk->latency = std::chrono::milliseconds(3);
  const auto images =
      open_image_folder(folder.path(), "train", std::vector<std::string>{"a"}, disk);
  EXPECT_FALSE(images->reads_ahead());
  StoredSample sample;
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < 200; ++i) indices.push_back(i);
  for (std::int64_t i = 0; i < 200; ++i) {
    if (i == 40) {
      ASSERT_TRUE(images->reads_ahead()) << "its reads take milliseconds";
      images->will_read(std::span(indices).subspan(40));
    }
    images->get(i, sample);
    EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()),
              fmt::format("content of {}", i));
  }
  EXPECT_GT(disk->most_at_once, 1);
}

TEST(ImageFolder, AFastDiskIsNeverReadAhead) {
  const paceline::test::CacheHome home;
  const TempFolder folder;
  folder.write("train/a/1.jpg", "content");
  const auto images = open_image_folder(folder.path(), "train", "train");
  StoredSample sample;
  for (int i = 0; i < 1000; ++i) images->get(0, sample);
  EXPECT_FALSE(images->reads_ahead());
}

TEST(ImageFolder, OpensTheSplitThatIsAskedFor) {
  const paceline::test::TempFolder folder;
  folder.write("train/a/1.jpg", "x");
  folder.write("train/b/1.jpg", "x");
  folder.write("test/b/2.jpg", "x");
  ImageFolderConfig config;
  config.path = folder.path().string();
  config.val_folder = "test";
  EXPECT_EQ(open(config, Split::kTrain)->size(), 2);
  EXPECT_EQ(open(config, Split::kVal)->size(), 1);
  EXPECT_EQ(open(config, Split::kVal)->label(0), 1);
}

TEST(ImageFolder, TakesFileUrls) {
  const test::TempFolder folder;
  folder.write("train/a/1.jpg", "x");
  EXPECT_EQ(open(ImageFolderConfig{"file://" + folder.path().string()}, Split::kTrain)->size(), 1);
}

}  // namespace
}  // namespace paceline::data
