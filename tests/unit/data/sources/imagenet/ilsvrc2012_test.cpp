#include "paceline/data/sources/imagenet/ilsvrc2012.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/image_folder.h"
#include "support/data/cache_home.h"
#include "support/data/devkit.h"
#include "support/data/fake_storage.h"
#include "support/data/same_samples.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"

#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Every sample as "label name: content".
std::vector<std::string> samples_of(const Dataset& dataset) {
  std::vector<std::string> samples;
  StoredSample sample;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    dataset.get(i, sample);
    samples.push_back(fmt::format("{} {}: {}", sample.label, dataset.name(i),
                                  std::string(sample.bytes.begin(), sample.bytes.end())));
  }
  return samples;
}

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const auto& [wnid, number] : kKitClasses) names.push_back(wnid);
  return names;
}

/// Images of a class under names that do not lie in order, and a file that is no image.
TarContent train_images(const std::string& wnid) {
  TarContent images = {{"notes.txt", "no image"}};
  for (const char* number : {"30", "4", "12"}) {
    images.emplace_back(fmt::format("{}_{}.JPEG", wnid, number), wnid + " image " + number);
  }
  return images;
}

std::string val_name(int number) { return fmt::format("ILSVRC2012_val_{:08d}.JPEG", number); }

class Ilsvrc2012 : public ::testing::Test {
 protected:
  /// What image_folder makes of the extracted images.
  std::vector<std::string> expected_train() const {
    for (const auto& [wnid, number] : kKitClasses) {
      for (const auto& [name, content] : train_images(wnid)) {
        reference_.write(fmt::format("train/{}/{}", wnid, name), content);
      }
    }
    return samples_of(*open_image_folder(reference_.path(), "train", "train"));
  }

  void write_train_tar() const {
    TarContent tars;
    for (auto entry = kKitClasses.rbegin(); entry != kKitClasses.rend(); ++entry) {
      tars.emplace_back(entry->first + ".tar",
                        tar_bytes(reference_.path() / "class.tar", train_images(entry->first)));
    }
    write_tar(data_.path() / "ILSVRC2012_img_train.tar", tars);
  }

  /// Images 1 to 4 in an order of their own.
  TarContent val_images(const std::string& folder = "") const {
    TarContent images;
    for (const int number : {3, 1, 4, 2}) {
      images.emplace_back(folder + val_name(number), fmt::format("val image {}", number));
    }
    return images;
  }
  void write_val_tar() const { write_tar(data_.path() / "ILSVRC2012_img_val.tar", val_images()); }
  void write_val_folder(const std::string& folder) const {
    for (const auto& [name, content] : val_images(folder)) data_.write(name, content);
  }

  std::unique_ptr<Dataset> train() const { return open_ilsvrc2012(data_.path(), "", true); }
  std::unique_ptr<Dataset> val(const fs::path& labels = "") const {
    return open_ilsvrc2012(data_.path(), labels, false);
  }
  void expect_val(const Dataset& dataset) const {
    EXPECT_THAT(
        samples_of(dataset),
        ElementsAre("0 " + val_name(1) + ": val image 1", "1 " + val_name(3) + ": val image 3",
                    "2 " + val_name(4) + ": val image 4", "3 " + val_name(2) + ": val image 2"));
    EXPECT_EQ(dataset.class_names(), class_names());
  }

  TempFolder data_;
  TempFolder reference_;
};

TEST_F(Ilsvrc2012, TheTrainTarEqualsAnImageFolder) {
  write_train_tar();
  const auto dataset = train();
  EXPECT_EQ(samples_of(*dataset), expected_train());
  EXPECT_EQ(dataset->class_names(), class_names());
  EXPECT_THAT(dataset->describe(0), HasSubstr("ILSVRC2012_img_train.tar: n01751748_12.JPEG"));
}

TEST_F(Ilsvrc2012, TarsOfClassesInAFolderDoToo) {
  for (const char* folder : {"", "train/", "ILSVRC2012_img_train/"}) {
    for (const auto& [wnid, number] : kKitClasses) {
      write_tar(data_.path() / (folder + wnid + ".tar"), train_images(wnid));
    }
    EXPECT_EQ(samples_of(*train()), expected_train()) << folder;
    for (const auto& [wnid, number] : kKitClasses) {
      fs::remove(data_.path() / (folder + wnid + ".tar"));
    }
  }
}

TEST_F(Ilsvrc2012, KagglesFoldersDoToo) {
  for (const auto& [wnid, number] : kKitClasses) {
    for (const auto& [name, content] : train_images(wnid)) {
      data_.write(fmt::format("ILSVRC/Data/CLS-LOC/train/{}/{}", wnid, name), content);
    }
  }
  EXPECT_EQ(samples_of(*train()), expected_train());
  write_val_folder("ILSVRC/Data/CLS-LOC/val/");
  std::string table = "ImageId,PredictionString\n";
  for (const auto& [number, wnid] : std::map<int, std::string>{
           {4, "n04263257"}, {2, "n09193705"}, {3, "n02105855"}, {1, "n01751748"}}) {
    table += fmt::format("ILSVRC2012_val_{:08d},{} 1 2 3 4 \n", number, wnid);
  }
  data_.write("LOC_val_solution.csv", table);
  expect_val(*val());
}

TEST_F(Ilsvrc2012, ValidationTakesItsLabelsFromTheKit) {
  write_train_tar();
  write_val_tar();
  write_kit(data_);
  expect_val(*val());
}

TEST_F(Ilsvrc2012, ValidationTakesLabelsFromAListOfNumbersOrIds) {
  write_train_tar();
  write_val_folder("val/");
  std::string list;
  for (const auto& [number, label] :
       std::map<int, std::string>{{4, "2"}, {2, "n09193705"}, {3, "1"}, {1, "n01751748"}}) {
    list += fmt::format("{} {}\n", val_name(number), label);
  }
  data_.write("lists/mine.txt", list);
  expect_val(*val("lists/mine.txt"));
  expect_val(*val(data_.path() / "lists/mine.txt"));
}

TEST_F(Ilsvrc2012, AValidationTarAloneHasTheClassesOfItsLabels) {
  write_val_tar();
  write_kit(data_);
  const auto dataset = val();
  EXPECT_EQ(dataset->num_classes(), 1000);
  EXPECT_THAT(
      samples_of(*dataset),
      ElementsAre("65 " + val_name(1) + ": val image 1", "230 " + val_name(3) + ": val image 3",
                  "809 " + val_name(4) + ": val image 4", "970 " + val_name(2) + ": val image 2"))
      << "as in every other list of labels of ImageNet";
  data_.write("numbers.txt", val_name(1) + " 5\n");
  EXPECT_THAT([&] { val("numbers.txt"); },
              ThrowsMessage<base::DataError>(HasSubstr("training data must be there")));
}

TEST_F(Ilsvrc2012, SortedValidationFoldersNeedNoLabels) {
  write_train_tar();
  data_.write("val/n04263257/" + val_name(4), "val image 4");
  data_.write("val/n01751748/" + val_name(1), "val image 1");
  const auto dataset = val();
  EXPECT_THAT(samples_of(*dataset), ElementsAre("0 " + val_name(1) + ": val image 1",
                                                "2 " + val_name(4) + ": val image 4"));
  EXPECT_EQ(dataset->class_names(), class_names());
}

TEST_F(Ilsvrc2012, SaysWhatIsMissing) {
  EXPECT_THAT([&] { train(); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("ILSVRC2012_img_train.tar"), HasSubstr("data.path"))));
  write_val_tar();
  EXPECT_THAT([&] { val(); }, ThrowsMessage<base::DataError>(AllOf(
                                  HasSubstr("ILSVRC2012_devkit_t12"), HasSubstr("LOC_val_solution"),
                                  HasSubstr("data.val_labels"))));
  EXPECT_THAT([&] { val("absent.txt"); }, ThrowsMessage<base::DataError>(HasSubstr("absent.txt")));
  write_tar(data_.path() / "ILSVRC2012_img_train.tar", {{"a.txt", "x"}});
  EXPECT_THAT([&] { train(); }, ThrowsMessage<base::DataError>(HasSubstr("no tars of classes")));
}

TEST_F(Ilsvrc2012, NamesAnImageWithoutALabelAndAClassThatIsUnknown) {
  write_train_tar();
  write_val_tar();
  data_.write("val.txt", "a_1.JPEG 0\na_2.JPEG 0\na_3.JPEG 0\n");
  EXPECT_THAT([&] { val(); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr(val_name(4)), HasSubstr("val.txt"))));
  for (const char* label : {"4", "n99999999", "-1"}) {
    data_.write("val.txt", fmt::format("a_1.JPEG 0\na_2.JPEG 0\na_3.JPEG 0\na_4.JPEG {}\n", label));
    EXPECT_THAT([&] { val(); }, ThrowsMessage<base::DataError>(HasSubstr("none of the 4 classes")));
  }
}

TEST_F(Ilsvrc2012, NamesADamagedClassTar) {
  TarContent tars = {
      {"n01440764.tar", tar_bytes(reference_.path() / "class.tar", {{"a.JPEG", "x"}})}};
  tars[0].second.resize(700);
  write_tar(data_.path() / "ILSVRC2012_img_train.tar", tars);
  EXPECT_THAT([&] { train(); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("ILSVRC2012_img_train.tar"), HasSubstr("cut short"))));
}

TEST_F(Ilsvrc2012, KeepsItsIndexUntilAFileChanges) {
  write_train_tar();
  write_val_tar();
  write_kit(data_);
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const auto age = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(data_.path())) {
      fs::last_write_time(entry.path(), hour_ago);
    }
  };
  age();
  const std::string fingerprint = val()->fingerprint();
  const fs::path index = data_.path() / ".paceline-ilsvrc2012-val.index";
  ASSERT_TRUE(fs::exists(index));
  fs::last_write_time(index, hour_ago);
  train();
  EXPECT_TRUE(fs::exists(data_.path() / ".paceline-ilsvrc2012-train.index"));
  EXPECT_EQ(val()->fingerprint(), fingerprint);
  EXPECT_EQ(fs::last_write_time(index), hour_ago);
  data_.write("val.txt", "a_1 0\na_2 0\na_3 0\na_4 0\n");
  fs::remove_all(data_.path() / "ILSVRC2012_devkit_t12");
  EXPECT_NE(val()->fingerprint(), fingerprint);
}

class Ilsvrc2012OfAnotherMachine : public Ilsvrc2012 {
 protected:
  void expect_the_same() {
    data_.write("val.txt", val_name(1) + " 3\n" + val_name(2) + " 2\n" + val_name(3) + " 2\n" +
                               val_name(4) + " 0\n");
    const auto storage = test::copy_of(data_.path(), "s3://b/x");
    for (const bool is_training : {true, false}) {
      const auto here = open_ilsvrc2012(data_.path(), "", is_training);
      test::expect_same_samples(*open_ilsvrc2012("s3://b/x", "", is_training, storage), *here);
      test::expect_same_samples(
          *open_ilsvrc2012("s3://b/x", "s3://b/x/val.txt", is_training, storage), *here);
    }
  }
  test::CacheHome cache_;
};

TEST_F(Ilsvrc2012OfAnotherMachine, TarsAreTheSame) {
  expected_train();
  write_train_tar();
  write_val_tar();
  expect_the_same();
}

TEST_F(Ilsvrc2012OfAnotherMachine, TarsOfClassesAndFoldersAreTheSame) {
  for (const auto& [wnid, number] : kKitClasses)
    write_tar(data_.path() / (wnid + ".tar"), train_images(wnid));
  write_val_folder("val/");
  expect_the_same();
}

TEST_F(Ilsvrc2012, TakesItsSettings) {
  const paceline::test::TempFolder folder;
  write_tar(folder.path() / "n00000001.tar", {{"n00000001_1.JPEG", "x"}});
  write_tar(folder.path() / "ILSVRC2012_img_val.tar", {{"val_1.JPEG", "x"}, {"val_2.JPEG", "y"}});
  folder.write("labels.txt", "val_1.JPEG 0\nval_2.JPEG n00000001\n");
  Ilsvrc2012Config config;
  config.path = folder.path().string();
  config.val_labels = "labels.txt";
  EXPECT_EQ(data::open(config, Split::kTrain)->size(), 1);
  EXPECT_EQ(data::open(config, Split::kVal)->size(), 2);
}

}  // namespace
}  // namespace paceline::data
