#include "paceline/data/sources/webdataset.h"

#include "paceline/base/error.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/same_samples.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"

#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class WebDataset : public ::testing::Test {
 protected:
  std::unique_ptr<Dataset> open(const std::string& label_key = "",
                                std::optional<int> classes = {}) const {
    return open_webdataset({folder_.path(), "*.tar", label_key, classes, "webdataset-train"});
  }
  void expect_refused(const TarContent& members, const std::string& problem,
                      const std::string& label_key = "") const {
    write_tar(folder_.path() / "a.tar", members);
    EXPECT_THAT([&] { open(label_key); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr("a.tar"), HasSubstr(problem))));
  }
  std::vector<std::string> samples_of(const Dataset& dataset) const {
    std::vector<std::string> samples;
    StoredSample sample;
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      dataset.get(i, sample);
      samples.push_back(fmt::format("{} {}: {}", sample.label, dataset.name(i),
                                    std::string(sample.bytes.begin(), sample.bytes.end())));
    }
    return samples;
  }

  TempFolder folder_;
};

TEST_F(WebDataset, GroupsMembersByTheNameUpToTheFirstDot) {
  write_tar(folder_.path() / "b.tar", {{"dir.x/10.png", "ten"}, {"dir.x/10.cls", " 3\n"}});
  write_tar(folder_.path() / "a.tar", {{"__meta__.cls", "x"},
                                       {"README", "no dot"},
                                       {"2.cls", "1"},
                                       {"2.JPG", "two"},
                                       {"2.seg.png", "ignored"},
                                       {"1.jpeg", "one"},
                                       {"1.json", "{}"},
                                       {"1.cls", "0"},
                                       {"notes.txt", "neither image nor label"}});
  const auto dataset = open();
  EXPECT_THAT(samples_of(*dataset),
              ElementsAre("1 2.JPG: two", "0 1.jpeg: one", "3 dir.x/10.png: ten"));
  EXPECT_THAT(dataset->class_names(), ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(open("", 7)->num_classes(), 7);
}

TEST_F(WebDataset, TakesLabelsFromJson) {
  write_tar(folder_.path() / "a.tar",
            {{"1.jpg", "one"}, {"1.json", "{\"label\": 4, \"text\": \"x\"}"}, {"1.cls", "9"}});
  EXPECT_EQ(open("label")->label(0), 4);
}

TEST_F(WebDataset, NamesTheSampleThatIsWrong) {
  const std::pair<std::string, std::string> image = {"dir/7.jpg", "x"};
  expect_refused({image}, "sample dir/7 has no label in a .cls; set data.label_key");
  expect_refused({{"dir/7.cls", "1"}}, "sample dir/7 has a label but no image");
  for (const char* text : {"", " \n", "cat", "1 2", "-1", "1.5", "99999999999999999999"}) {
    expect_refused({image, {"dir/7.cls", text}}, "sample dir/7 has '");
  }
  expect_refused({image}, "has no .json", "label");
  expect_refused({image, {"dir/7.json", "{"}}, "damaged .json", "label");
  expect_refused({image, {"dir/7.json", "[1]"}}, "damaged .json", "label");
  expect_refused({image, {"dir/7.json", "{\"a\": 1}"}}, "has no 'label'", "label");
  expect_refused({image, {"dir/7.json", "{\"label\": \"1\"}"}}, "expected a number", "label");
  expect_refused({image, {"dir/7.json", "{\"label\": -1}"}}, "expected a number", "label");
}

TEST_F(WebDataset, RefusesALabelBeyondTheClassesAndAnEmptySplit) {
  write_tar(folder_.path() / "a.tar", {{"1.jpg", "x"}, {"1.cls", "5"}});
  EXPECT_THAT([&] { open("", 5); },
              ThrowsMessage<base::DataError>(HasSubstr("has label 5, expected less than 5")));
  write_tar(folder_.path() / "a.tar", {{"1.txt", "x"}});
  EXPECT_THAT([&] { open(); }, ThrowsMessage<base::DataError>(HasSubstr("holds no samples")));
}

TEST_F(WebDataset, KeepsItsIndexUntilAShardChanges) {
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const auto write = [&](const std::string& name, const std::string& label) {
    fs::last_write_time(write_tar(folder_.path() / name, {{"1.jpg", "x"}, {"1.cls", label}}),
                        hour_ago);
  };
  write("a.tar", "1");
  const std::string fingerprint = open()->fingerprint();
  const fs::path index = folder_.path() / ".paceline-webdataset-train.index";
  fs::last_write_time(index, hour_ago);
  EXPECT_EQ(open()->fingerprint(), fingerprint);
  EXPECT_EQ(fs::last_write_time(index), hour_ago);
  write("b.tar", "0");
  EXPECT_EQ(open()->size(), 2);
  EXPECT_EQ(open("", 2)->num_classes(), 2);
  EXPECT_EQ(open("", 3)->num_classes(), 3);
}

TEST_F(WebDataset, OfAnotherMachineIsTheSame) {
  const test::CacheHome cache;
  for (const char* shard : {"a.tar", "b.tar"}) {
    TarContent members;
    for (int i = 0; i < 20; ++i) {
      const std::string key = fmt::format("{}{}", shard[0], i);
      members.emplace_back(key + ".jpg", std::string(static_cast<std::size_t>(100 * i), shard[0]));
      members.emplace_back(key + ".cls", std::to_string(i % 3));
    }
    write_tar(folder_.path() / shard, members);
  }
  const auto storage = test::copy_of(folder_.path(), "s3://b/set");
  for (const char* shards : {"*.tar", "{a,b}.tar", "."}) {
    const bool is_folder = shards == std::string_view(".");
    const WebDatasetSource here{folder_.path(), "*.tar", "", {}, "here"};
    const WebDatasetSource there{
        is_folder ? "s3://b" : "s3://b/set", is_folder ? "set" : shards, "", {}, "there"};
    test::expect_same_samples(*open_webdataset(there, storage), *open_webdataset(here));
    storage->num_reads = 0;
    open_webdataset(there, storage);
    EXPECT_EQ(storage->num_reads, 0) << "the index was not kept";
  }
  storage->changed = 2;
  open_webdataset({"s3://b/set", "*.tar", "", {}, "there"}, storage);
  EXPECT_EQ(storage->num_reads, 2) << "a tar of small members is read in large pieces";
}

TEST_F(WebDataset, TakesItsSettings) {
  const TempFolder folder;
  write_tar(folder.path() / "a-train-0.tar", {{"1.jpg", "x"}, {"1.cls", "2"}, {"1.json", "{}"}});
  write_tar(folder.path() / "a-val-0.tar", {{"1.jpg", "x"},
                                            {"1.cls", "0"},
                                            {"2.jpg", "x"},
                                            {"2.cls", "1"},
                                            {"2.json", "{\"class\": 3}"}});
  write_tar(folder.path() / "more/b.tar", {{"1.jpg", "x"}, {"1.json", "{\"class\": 3}"}});
  WebDatasetConfig config;
  config.path = folder.path().string();
  EXPECT_EQ(data::open(config, Split::kTrain)->num_classes(), 3);
  EXPECT_EQ(data::open(config, Split::kVal)->size(), 2);
  config.train_shards = "more/{b,b}.tar";
  config.label_key = "class";
  config.classes = 10;
  EXPECT_EQ(data::open(config, Split::kTrain)->size(), 2);
  EXPECT_EQ(data::open(config, Split::kTrain)->num_classes(), 10);
  EXPECT_EQ(data::open(config, Split::kTrain)->label(1), 3);
}

}  // namespace
}  // namespace paceline::data
