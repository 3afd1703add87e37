#include "paceline/data/sources/arrays.h"

#include "paceline/base/error.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/npy_files.h"
#include "support/data/same_samples.h"
#include "support/temp_folder.h"

#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::npy_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class ArraysTest : public ::testing::Test {
 protected:
  ArraysTest() {
    folder_.write("train/volume.npy", npy_file<float>("<f4", {3, 1, 2, 2}));
    folder_.write("train/organs.npy", npy_file<std::uint8_t>("|u1", {3, 2, 2}));
    folder_.write("train/labels.npy", npy_file<std::int16_t>("<i2", {3}));
  }

  ArraysConfig config(std::vector<std::string> fields = {}) const {
    return {.path = folder_.path().string(), .fields = std::move(fields)};
  }

  void refuses(const std::string& file, const std::string& bytes, const std::string& problem) {
    folder_.write("train/" + file, bytes);
    EXPECT_THAT([&] { open(config(), Split::kTrain); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr(file), HasSubstr(problem))));
    std::filesystem::remove(folder_.path() / "train" / file);
  }

  paceline::test::TempFolder folder_;
};

TEST_F(ArraysTest, EachFileIsAField) {
  const auto dataset = open(config(), Split::kTrain);
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->num_classes(), 3);
  EXPECT_THAT(dataset->class_names(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(dataset->label(2), 2);
  EXPECT_THAT(dataset->stored_fields(),
              ElementsAre(FieldSpec{"labels", FieldType::kInt16},
                          FieldSpec{"organs", FieldType::kUInt8, {2, 2}},
                          FieldSpec{"volume", FieldType::kFloat32, {1, 2, 2}}));
  StoredSample sample;
  dataset->get(1, sample);
  ASSERT_EQ(sample.bytes.size(), 2u + 4 + 16);
  EXPECT_EQ(sample.label, 1);
  EXPECT_EQ(std::vector<int>(sample.bytes.begin() + 2, sample.bytes.begin() + 6),
            (std::vector<int>{4, 5, 6, 7}));
  float first = 0;
  std::memcpy(&first, sample.bytes.data() + 6, sizeof(first));
  EXPECT_EQ(first, 4);
  EXPECT_THAT(dataset->describe(1), HasSubstr("train: sample 1"));
}

TEST_F(ArraysTest, ItsSamplesAreFieldsAndNoImages) {
  const auto plan = make(config());
  EXPECT_TRUE(plan->may_store_fields);
  EXPECT_EQ(plan->open(Split::kTrain, local_storage(), {})->stored_fields().size(), 3u);
}

TEST_F(ArraysTest, OtherFilesAreNoFields) {
  folder_.write("train/notes.txt", "of the volumes");
  folder_.write("train/volume.npz", "packed");
  EXPECT_EQ(open(config(), Split::kTrain)->stored_fields().size(), 3u);
}

TEST_F(ArraysTest, ASampleTakesThePlaceOfWhatWasThere) {
  const auto dataset = open(config(), Split::kTrain);
  StoredSample fresh;
  dataset->get(2, fresh);
  StoredSample used;
  used.bytes.assign(100, 7);
  used.width = used.height = 9;
  dataset->get(2, used);
  EXPECT_EQ(used.bytes, fresh.bytes);
  EXPECT_EQ(used.width, 0);
  EXPECT_EQ(used.height, 0);
}

TEST_F(ArraysTest, APartMayBeTheFolderItself) {
  ArraysConfig of_folder = config();
  of_folder.path += "/train";
  of_folder.train_folder = ".";
  EXPECT_EQ(open(of_folder, Split::kTrain)->describe(0), of_folder.path + ": sample 0");
}

TEST_F(ArraysTest, OfAnotherMachineItNamesItsFields) {
  const paceline::test::CacheHome cache;
  const auto storage = paceline::test::copy_of(folder_.path(), "s3://b/set");
  ArraysConfig remote = config();
  remote.path = "s3://b/set";
  EXPECT_THAT([&] { open(remote, Split::kTrain, storage); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.fields: name the arrays")));
  remote.fields = {"labels", "volume"};
  const auto there = open(remote, Split::kTrain, storage);
  const auto here = open(config({"labels", "volume"}), Split::kTrain);
  paceline::test::expect_same_samples(*there, *here);
}

TEST_F(ArraysTest, NamedFieldsAloneAreRead) {
  const auto dataset = open(config({"volume"}), Split::kTrain);
  EXPECT_THAT(dataset->stored_fields(),
              ElementsAre(FieldSpec{"volume", FieldType::kFloat32, {1, 2, 2}}));
  EXPECT_EQ(dataset->num_classes(), 0);
  EXPECT_THAT([&] { open(config({"liver"}), Split::kTrain); },
              ThrowsMessage<base::DataError>(HasSubstr("liver.npy")));
}

TEST_F(ArraysTest, TheFingerprintIsOfTheNumbers) {
  const auto fingerprint = [&] { return open(config(), Split::kTrain)->fingerprint(); };
  const std::string before = fingerprint();
  EXPECT_EQ(fingerprint(), before);
  folder_.write("train/volume.npy", npy_file<float>("<f4", {3, 1, 2, 2}, 1));
  EXPECT_NE(fingerprint(), before);
}

TEST_F(ArraysTest, TheFingerprintIsOfSamplesAndOfAllLabels) {
  const auto with = [&](const std::string& bytes, const std::string& name = "some",
                        std::optional<int> classes = {}) {
    folder_.write("train/" + name + ".npy", bytes);
    ArraysConfig one = config({name});
    one.classes = classes;
    return open(one, Split::kTrain)->fingerprint();
  };
  const auto changed = [](std::string bytes, std::size_t from_end) {
    bytes[bytes.size() - from_end] ^= 1;
    return bytes;
  };
  const std::string ten = npy_file<std::uint8_t>("|u1", {10});
  for (const std::size_t from_end : {1u, 3u, 10u})
    EXPECT_NE(with(changed(ten, from_end)), with(ten));
  const std::string wide = npy_file<std::uint8_t>("|u1", {2, 10'000});
  EXPECT_NE(with(changed(wide, 5000)), with(wide)) << "the middle of a large sample";
  EXPECT_EQ(with(changed(wide, 1)), with(wide)) << "and not its end";
  EXPECT_NE(with(npy_file<std::uint8_t>("|u1", {3, 2, 2})),
            with(npy_file<std::uint8_t>("|u1", {3, 4})));
  EXPECT_NE(with(npy_file<std::uint8_t>("|u1", {2001})),
            with(npy_file<std::uint8_t>("|u1", {2002})))
      << "of which every second is read";
  const std::string labels = npy_file<std::uint8_t>("|u1", {2001});
  EXPECT_NE(with(changed(labels, 2), "labels"), with(labels, "labels"));
  EXPECT_NE(with(labels, "labels", 256), with(labels, "labels", 300));
}

TEST_F(ArraysTest, SaysWhatItCannotTake) {
  refuses("short.npy", npy_file<float>("<f4", {2, 4}), "holds 2 samples by its first axis, but");
  refuses("exact.npy", npy_file<double>("<f8", {3}), "float64, expected uint8");
  refuses("tiny.npy", npy_file<std::int8_t>("|i1", {3}), "int8, expected uint8");
  refuses("huge.npy", npy_file<float>("<f4", {0, 1 << 16, 1 << 16}), "4 GiB or more");
  refuses("one.npy", npy_file<float>("<f4", {}), "a single number");
  refuses("far.npy", npy_file<float>(">f4", {3}), "big-endian");
  refuses("columns.npy", npy_file<float>("<f4", {3, 4}, 0, true), "Fortran");
  refuses("objects.npy", npy_file<float>("|O", {3}), "Python's objects");
  std::string cut = npy_file<float>("<f4", {3, 4});
  cut.resize(cut.size() - 1);
  refuses("cut.npy", cut, "cut short");
}

TEST_F(ArraysTest, LabelsMustBeClasses) {
  folder_.write("train/labels.npy", npy_file<std::int16_t>("<i2", {3}, -1));
  EXPECT_THAT([&] { open(config(), Split::kTrain); },
              ThrowsMessage<base::DataError>(HasSubstr("labels.npy: label -1 of sample 0")));
}

TEST_F(ArraysTest, OnlyARowOfWholeNumbersCalledLabelsIsClasses) {
  folder_.write("train/years.npy", npy_file<std::int32_t>("<i4", {3}, 50));
  EXPECT_EQ(open(config(), Split::kTrain)->num_classes(), 3);
  for (const std::string& other :
       {npy_file<std::uint8_t>("|u1", {3, 2}), npy_file<float>("<f4", {3})}) {
    folder_.write("train/labels.npy", other);
    const auto dataset = open(config(), Split::kTrain);
    EXPECT_EQ(dataset->num_classes(), 0);
    EXPECT_EQ(dataset->label(2), 0);
  }
}

TEST_F(ArraysTest, HowManyClassesThereAreMayBeSaid) {
  ArraysConfig said = config();
  said.classes = 7;
  EXPECT_EQ(open(said, Split::kTrain)->num_classes(), 7);
  said.classes = 2;
  EXPECT_THAT([&] { open(said, Split::kTrain); },
              ThrowsMessage<base::DataError>(HasSubstr("label 2 of sample 2, expected 0 to 1")));
  folder_.write("train/labels.npy", npy_file<std::int64_t>("<i8", {3}, 2'000'000'000));
  EXPECT_THAT([&] { open(config(), Split::kTrain); },
              ThrowsMessage<base::DataError>(HasSubstr("of sample 0, expected 0 to 9999999")));
}

TEST_F(ArraysTest, AFolderThatIsNotThere) {
  EXPECT_THROW(open(config(), Split::kVal), AbsentPartError);
  std::filesystem::create_directory(folder_.path() / "val");
  EXPECT_THAT([&] { open(config(), Split::kVal); },
              ThrowsMessage<base::DataError>(HasSubstr("holds no .npy file")));
  EXPECT_THROW(open(ArraysConfig{.path = "/nowhere"}, Split::kTrain), base::DataError);
  EXPECT_THROW(open(ArraysConfig{}, Split::kTrain), base::ConfigError);
}

TEST_F(ArraysTest, AFileThatBecomesShorterIsAnErrorAndNoCrash) {
  const auto dataset = open(config(), Split::kTrain);
  std::filesystem::resize_file(folder_.path() / "train" / "organs.npy", 8);
  StoredSample sample;
  EXPECT_THAT([&] { dataset->get(2, sample); },
              ThrowsMessage<base::DataError>(HasSubstr("organs.npy: the file has become shorter")));
  EXPECT_THROW(dataset->fingerprint(), base::DataError);
}

}  // namespace
}  // namespace paceline::data
