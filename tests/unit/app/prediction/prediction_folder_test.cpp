#include "paceline/app/prediction/prediction_folder.h"

#include "paceline/base/json.h"
#include "paceline/data/formats/npy_file.h"
#include "paceline/data/sources/synthetic.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

/// Three samples of two classes with odd names.
class NamedSamples final : public data::Dataset {
 public:
  explicit NamedSamples(int num_classes) : num_classes_(num_classes) {}
  std::int64_t size() const override { return 3; }
  int num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override { return {"cat, wild", "dog"}; }
  std::int64_t label(std::int64_t index) const override { return index % 2; }
  void get(std::int64_t, data::StoredSample&) const override {}
  std::string describe(std::int64_t index) const override {
    return index == 1 ? "a \"b\".jpg" : fmt::format("{}.jpg", index);
  }
  std::string fingerprint() const override { return "named"; }

 private:
  int num_classes_;
};

class PredictionFolderTest : public ::testing::Test {
 protected:
  static train::Predictions rows(const std::vector<std::int64_t>& indices) {
    const at::Tensor numbers = at::tensor(indices, at::kLong);
    return {{{"numbers", numbers}, {"bytes", at::stack({numbers, numbers}, 1).to(at::kByte)}},
            indices,
            {}};
  }
  std::vector<fs::path> left() const {
    std::vector<fs::path> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path());
    return names;
  }
  std::string text(const std::string& name) const { return base::read_file(out_ / name); }

  paceline::test::TempFolder folder_;
  fs::path out_ = folder_.path() / "out";
  paceline::test::FaultyFileSystem files_;
  NamedSamples dataset_{2};
};

TEST_F(PredictionFolderTest, HoldsARowForEachSample) {
  PredictionFolder folder(files_, out_, dataset_, 3);
  folder.add(rows({0, 1}));
  folder.add(rows({2}));
  EXPECT_FALSE(fs::exists(out_)) << "it is not whole yet";
  folder.publish({{"step", 7}});
  EXPECT_EQ(text("samples.csv"),
            "index,sample,label,class\n0,0.jpg,0,\"cat, wild\"\n1,\"a \"\"b\"\".jpg\",1,dog\n"
            "2,2.jpg,0,\"cat, wild\"\n");
  EXPECT_THAT(data::npy_integers(data::open_npy(out_ / "numbers.npy")),
              ::testing::ElementsAre(0, 1, 2));
  const data::NpyArray bytes = data::open_npy(out_ / "bytes.npy");
  EXPECT_EQ(bytes.shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(bytes.kind, 'u');
  const nlohmann::json facts = base::parse_json(text("predictions.json"));
  EXPECT_EQ(facts.at("step"), 7);
  EXPECT_EQ(facts.at("fields").at("bytes").at("dtype"), "|u1");
  EXPECT_EQ(facts.at("fields").at("numbers").at("shape"), std::vector<std::int64_t>{3});
  EXPECT_THAT(left(), SizeIs(1));
}

TEST_F(PredictionFolderTest, CountsOnlyTheRowsThatCame) {
  PredictionFolder folder(files_, out_, dataset_, 1000);
  folder.add(rows({0, 2}));
  folder.publish({});
  EXPECT_THAT(data::npy_integers(data::open_npy(out_ / "numbers.npy")),
              ::testing::ElementsAre(0, 2));
}

TEST_F(PredictionFolderTest, SamplesWithoutClassesHaveNoLabels) {
  const NamedSamples without(0);
  PredictionFolder folder(files_, out_, without, 1);
  folder.add(rows({0}));
  folder.publish({});
  EXPECT_EQ(text("samples.csv"), "index,sample\n0,0.jpg\n");
}

TEST_F(PredictionFolderTest, WhatIsThereStays) {
  folder_.write("out/precious.txt", "mine");
  EXPECT_THAT([&] { PredictionFolder(files_, out_, dataset_, 3); },
              ThrowsMessage<base::FileError>(HasSubstr("name another folder")));
  EXPECT_EQ(text("precious.txt"), "mine");
  EXPECT_THAT(left(), SizeIs(1));
}

TEST_F(PredictionFolderTest, WhatFailsLeavesNothing) {
  bool was_stopped = true;
  for (int stop = 1; was_stopped; ++stop) {
    was_stopped = false;
    int count = 0;
    files_.set_fault([&](std::string_view operation, const fs::path&) {
      if (operation == "remove_all" || ++count != stop) return 0;
      was_stopped = true;
      return ENOSPC;
    });
    try {
      PredictionFolder folder(files_, out_, dataset_, 2);
      folder.add(rows({0, 1}));
      folder.publish({});
    } catch (const base::FileError&) {
      EXPECT_TRUE(was_stopped);
    }
    if (fs::exists(out_)) {
      EXPECT_TRUE(fs::exists(out_ / "predictions.json")) << stop;
    }
    fs::remove_all(out_);
    EXPECT_THAT(left(), IsEmpty()) << stop;
  }
}

}  // namespace
}  // namespace paceline::app
