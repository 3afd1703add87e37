#include "paceline/dataset_tools/prepare/prepare.h"

#include "paceline/base/error.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/imagenet/ilsvrc2012.h"
#include "paceline/dataset_tools/synth.h"
#include "support/data/fake_storage.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"
#include "unit/dataset_tools/prepare/md5_of.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

const std::string kUrl = "https://host/photos.tgz";

/// A small image folder, published as an archive.
class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() {
    const fs::path made = folder_.path() / "made";
    synthesize_image_folder({.path = made.string(),
                             .classes = 2,
                             .train_per_class = 3,
                             .val_per_class = 2,
                             .min_size = 20,
                             .max_size = 30});
    data::TarContent members;
    for (const auto& entry : fs::recursive_directory_iterator(made)) {
      if (entry.is_regular_file())
        members.emplace_back("photos/" + fs::relative(entry.path(), made).string(),
                             base::read_file(entry.path()));
    }
    publish(data::tar_bytes(folder_.path() / "scratch.tar", members));
    options_.pack.folder = folder_.path() / "out";
  }

  void publish(const std::string& archive) {
    storage_->files[kUrl] = archive;
    set_.files = {{"photos.tgz", kUrl, md5_of(archive)}};
  }

  PrepareResult run() {
    const auto open = [this](const ImageSource& source, data::Split split) {
      ++opened_;
      EXPECT_TRUE(source.format == "image_folder" || source.path == options_.from);
      return data::open(data::ImageFolderConfig{.path = source.path}, split);
    };
    return prepare(set_, options_,
                   {*storage_, files_, open, {.say = [this](const std::string& what) {
                      said_.push_back(what);
                    }}});
  }
  std::string failure() {
    try {
      run();
    } catch (const base::Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  fs::path out(const std::string& name) const { return options_.pack.folder / name; }

  const test::TempFolder folder_;
  const std::shared_ptr<test::FakeStorage> storage_ = std::make_shared<test::FakeStorage>();
  base::RealFileSystem files_;
  KnownSet set_{.name = "photos",
                .format = "image_folder",
                .folder_in_archive = "photos",
                .classes = 2,
                .train = {6, 3, 3},
                .val = {4, 2, 2},
                .image_bytes = 10'000};
  PrepareOptions options_;
  int opened_ = 0;
  std::vector<std::string> said_;
};

TEST_F(PrepareTest, DownloadsUnpacksChecksAndPacks) {
  const PrepareResult result = run();
  EXPECT_TRUE(result.is_complete());
  EXPECT_FALSE(result.was_complete);
  const data::PackedDataset train(out("train"));
  EXPECT_EQ(train.size(), 6);
  EXPECT_EQ(train.num_classes(), 2);
  data::StoredSample sample;
  train.get(4, sample);
  EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()),
            base::read_file(folder_.path() / "made/train" /
                            train.class_names()[static_cast<std::size_t>(train.label(4))] /
                            train.name(4)));
  EXPECT_EQ(data::PackedDataset(out("val")).size(), 4);
  EXPECT_FALSE(fs::exists(out("downloads")));
  EXPECT_THAT(said_, Contains("unpacking photos.tgz"));
}

TEST_F(PrepareTest, KeepsDownloadsIfAsked) {
  options_.keeps_downloads = true;
  run();
  EXPECT_TRUE(fs::exists(out("downloads/photos.tgz")));
  options_.keeps_downloads = false;
  EXPECT_TRUE(run().was_complete);
  EXPECT_FALSE(fs::exists(out("downloads")));
}

TEST_F(PrepareTest, DoesNothingWhenAllIsThere) {
  run();
  const int reads = storage_->num_reads;
  opened_ = 0;
  EXPECT_TRUE(run().was_complete);
  EXPECT_EQ(storage_->num_reads, reads);
  EXPECT_EQ(opened_, 0);
}

TEST_F(PrepareTest, CompletesWhatAnEarlierCallBegan) {
  options_.pack.samples_per_shard = 1;
  options_.keeps_downloads = true;
  run();
  fs::remove(out("val/manifest.json"));
  fs::remove(out("val/shard-00001.pack"));
  const int reads = storage_->num_reads;
  const PrepareResult result = run();
  EXPECT_EQ(storage_->num_reads, reads);
  EXPECT_EQ(result.train.written_shards, 0);
  EXPECT_EQ(result.val.written_shards, 1);
  EXPECT_TRUE(result.is_complete());
}

TEST_F(PrepareTest, SharesTheWork) {
  options_.pack.samples_per_shard = 1;
  options_.pack.num_parts = 2;
  const PrepareResult first = run();
  EXPECT_FALSE(first.is_complete());
  EXPECT_TRUE(fs::exists(out("downloads/ready.txt")));
  options_.pack.part = 1;
  EXPECT_TRUE(run().is_complete());
  EXPECT_FALSE(fs::exists(out("downloads")));
  EXPECT_EQ(data::PackedDataset(out("train")).size(), 6);
}

TEST_F(PrepareTest, TakesAFolderOfImagesInTheirPlace) {
  options_.from = (folder_.path() / "made").string();
  const test::FakeStorage nothing;
  const auto open = [this](const ImageSource& source, data::Split split) {
    EXPECT_EQ(source.format, "");
    EXPECT_EQ(source.path, (folder_.path() / "made").string());
    return data::open(data::ImageFolderConfig{.path = source.path}, split);
  };
  options_.from = "file://" + options_.from;
  EXPECT_TRUE(prepare(set_, options_, {nothing, files_, open, {}}).is_complete());
  EXPECT_TRUE(fs::exists(folder_.path() / "made/train"));
}

TEST_F(PrepareTest, RefusesASetThatIsNotComplete) {
  set_.train.samples = 7;
  set_.train.most_per_class = 4;
  EXPECT_THAT(failure(), HasSubstr("the train part of photos: 6 images, expected 7"));
  EXPECT_FALSE(fs::exists(out("train")));
}

TEST_F(PrepareTest, RefusesADamagedDownload) {
  storage_->files[kUrl][1000] ^= 1;
  EXPECT_THAT(failure(), HasSubstr("its MD5 is"));
  EXPECT_FALSE(fs::exists(out("train")));
}

TEST_F(PrepareTest, LooksForRoomFirst) {
  set_.image_bytes = std::uint64_t{1} << 60;
  EXPECT_THAT(failure(), HasSubstr("photos needs about "));
  EXPECT_EQ(storage_->num_reads, 0);
}

TEST_F(PrepareTest, RefusesAFolderOfAnotherSet) {
  run();
  options_.pack.mode = data::PackMode::kPixels;
  EXPECT_THAT(failure(), HasSubstr("packed as files: not photos as pixels"));
}

/// ImageNet's tars, made small: two classes of three images, and two images of each in the other
/// tar, whose classes stand in a list.
TEST_F(PrepareTest, TakesImagenetsTarsFromABucket) {
  const fs::path made = folder_.path() / "made";
  data::TarContent class_tars;
  data::TarContent val;
  std::string labels;
  int number = 0;
  for (const fs::directory_entry& train_class : fs::directory_iterator(made / "train")) {
    const std::string wnid = fmt::format("n0000000{}", class_tars.size());
    data::TarContent images;
    for (const auto& [name, image] : data::folder_content(train_class))
      images.emplace_back(wnid + "_" + std::to_string(images.size()) + ".JPEG", image);
    class_tars.emplace_back(wnid + ".tar", data::tar_bytes(folder_.path() / "scratch.tar", images));
    for (const auto& [name, image] :
         data::folder_content(made / "val" / train_class.path().filename())) {
      val.emplace_back(fmt::format("ILSVRC2012_val_{:08}.JPEG", ++number), image);
      labels += val.back().first + " " + wnid + "\n";
    }
  }
  storage_->files = {
      {"s3://b/ILSVRC2012_img_train.tar",
       data::tar_bytes(folder_.path() / "scratch.tar", class_tars)},
      {"s3://b/ILSVRC2012_img_val.tar", data::tar_bytes(folder_.path() / "scratch.tar", val)},
      {"s3://b/val.txt", labels}};
  set_.format = "ilsvrc2012";
  set_.folder_in_archive.clear();
  set_.files = {
      {"ILSVRC2012_img_train.tar"}, {"ILSVRC2012_img_val.tar"}, {"val.txt", "", "", 0, true}};
  options_.from = "s3://b";
  const auto open = [](const ImageSource& source, data::Split split) {
    EXPECT_EQ(source.format, "ilsvrc2012");
    return data::open(data::Ilsvrc2012Config{.path = source.path, .val_labels = {}}, split);
  };
  EXPECT_TRUE(prepare(set_, options_, {*storage_, files_, open, {}}).is_complete());
  const data::PackedDataset packed(out("val"));
  EXPECT_EQ(packed.class_names(), (std::vector<std::string>{"n00000000", "n00000001"}));
  EXPECT_EQ(packed.name(3), "ILSVRC2012_val_00000004.JPEG");
  EXPECT_EQ(packed.label(3), 1);
}

}  // namespace
}  // namespace paceline::dataset_tools
