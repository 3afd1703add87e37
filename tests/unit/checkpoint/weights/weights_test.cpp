#include "paceline/checkpoint/weights/weights.h"

#include "paceline/base/text.h"
#include "paceline/tensor/torch.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/interrupted_file_system.h"
#include "unit/checkpoint/messages.h"

#include <filesystem>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<std::string> kHead{"fc"};

/// Names as a small ResNet has them.
std::vector<NamedTensor> model(std::int64_t num_classes, double value) {
  return {
      {"conv1.weight", at::full({4, 3, 3, 3}, value).contiguous(at::MemoryFormat::ChannelsLast)},
      {"bn1.running_mean", at::full({4}, value)},
      {"bn1.num_batches_tracked", at::scalar_tensor(static_cast<std::int64_t>(value), at::kLong)},
      {"fc.weight", at::full({num_classes, 4}, value)},
      {"fc.bias", at::full({num_classes}, value)}};
}

class WeightsTest : public ::testing::Test {
 protected:
  base::TempDir dir_;
  std::filesystem::path path_ = dir_.path() / "model.safetensors";
  base::RealFileSystem files_;
};

TEST_F(WeightsTest, ExportThenImport) {
  export_weights(files_, path_, model(10, 3));
  EXPECT_EQ(SafetensorsFile(path_).metadata().at("format"), "pt");
  const auto target = model(10, 0);
  const ImportReport report = import_weights(path_, target, kHead);
  EXPECT_EQ(report.num_loaded, 5u);
  EXPECT_THAT(report.notes, IsEmpty());
  const auto expected = model(10, 3);
  for (std::size_t i = 0; i < target.size(); ++i) {
    EXPECT_TRUE(target[i].tensor.equal(expected[i].tensor)) << target[i].name;
  }
  EXPECT_TRUE(target[0].tensor.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_F(WeightsTest, SayWhatTheyHave) {
  auto stored = model(10, 3);
  for (NamedTensor& named : stored) named.name = "module." + named.name;
  export_weights(files_, path_, stored);
  EXPECT_THAT(names_in_weights(path_), ElementsAre("bn1.num_batches_tracked", "bn1.running_mean",
                                                   "conv1.weight", "fc.bias", "fc.weight"));
  const WeightImport import(path_, model(7, 0), kHead);
  EXPECT_TRUE(import.has("conv1.weight"));
  EXPECT_FALSE(import.has("fc.weight")) << "of other classes";
  EXPECT_FALSE(import.has("conv2.weight"));
}

TEST_F(WeightsTest, MetadataGoesIntoTheHeader) {
  const auto tensors = model(10, 3);
  export_weights(files_, path_, sources_of(tensors), {{"class_names", "[\"cat\"]"}});
  EXPECT_EQ(SafetensorsFile(path_).metadata(),
            (Metadata{{"class_names", "[\"cat\"]"}, {"format", "pt"}}));
}

TEST_F(WeightsTest, TellWhatWasDoneToTheirNetwork) {
  const auto tensors = model(10, 3);
  const auto surgery_in = [&](const Metadata& metadata) {
    export_weights(files_, path_, sources_of(tensors), metadata);
    return surgery_of_weights(path_);
  };
  const SurgeryRecord record{{"blurpool", "{}", {{"convolutions", {"conv"}}}}};
  EXPECT_EQ(surgery_in({{"surgery", surgery_to_json(record).dump()}}), record);
  EXPECT_EQ(surgery_in({}), std::nullopt);
  for (const char* other : {"appendix", "[1]", "7"})  // another program's
    EXPECT_EQ(surgery_in({{"surgery", other}}), std::nullopt) << other;
}

TEST_F(WeightsTest, TellOfTheirHead) {
  const auto written = model(2, 3);
  const auto head_of = [&](const std::string& class_names, int num_classes) {
    export_weights(files_, path_, sources_of(written), {{"class_names", class_names}});
    const WeightImport import(path_, model(num_classes, 0), kHead);
    return std::pair(import.lacks_head(), import.class_names());
  };
  const std::vector<std::string> names{"cat", "dog"};
  EXPECT_EQ(head_of("[\"cat\", \"dog\"]", 2), std::pair(false, names));
  EXPECT_EQ(head_of("[\"cat\", \"dog\"]", 3), std::pair(true, names));
  for (const char* other : {"cat, dog", "[1, 2]", "{\"cat\": 0}", ""})  // another program's
    EXPECT_TRUE(head_of(other, 2).second.empty()) << other;
}

TEST_F(WeightsTest, AHeadOfOtherClassesIsKeptAsInitialised) {
  export_weights(files_, path_, model(1000, 3));
  const auto target = model(10, 0);
  const ImportReport report = import_weights(path_, target, kHead);
  EXPECT_EQ(report.num_loaded, 3u);
  EXPECT_THAT(report.notes,
              ElementsAre("fc has 1000 classes in the file and 10 here: kept as initialised"));
  EXPECT_EQ(target[3].tensor.sum().item<double>(), 0);
  EXPECT_EQ(target[0].tensor.max().item<double>(), 3);
}

TEST_F(WeightsTest, AHeadThatDiffersOtherwiseIsAnError) {
  auto wide = model(10, 3);
  wide[3].tensor = at::zeros({10, 8});
  export_weights(files_, path_, wide);
  EXPECT_THAT(message_of([&] { import_weights(path_, model(10, 0), kHead); }),
              HasSubstr("fc.weight: the file has [10, 8], wanted [10, 4]"));
}

TEST_F(WeightsTest, EveryDifferenceIsNamedAndNothingIsCopied) {
  auto other = model(10, 3);
  other.erase(other.begin() + 1);
  other[0].tensor = at::zeros({8, 3, 3, 3});
  other.push_back({"layer1.weight", at::zeros({2})});
  export_weights(files_, path_, other);
  const auto target = model(10, 0);
  EXPECT_THAT(
      message_of([&] { import_weights(path_, target, kHead); }),
      AllOf(HasSubstr("model.safetensors"),
            HasSubstr("conv1.weight: the file has [8, 3, 3, 3], wanted [4, 3, 3, 3]"),
            HasSubstr("bn1.running_mean: missing, wanted [4]"),
            HasSubstr("layer1.weight: [2] in the file, not in this model"), Not(HasSubstr("fc."))));
  EXPECT_EQ(target[3].tensor.sum().item<double>(), 0);
}

TEST_F(WeightsTest, WhatMayLackIsKept) {
  export_weights(files_, path_, model(10, 3));
  auto target = model(10, 0);
  target.push_back({"conv1.se.weight", at::ones({2})});
  const WeightImport import(path_, target, kHead,
                            {.may_lack = {"conv1.se.weight", "conv1.weight"}});
  EXPECT_EQ(import.num_tensors(), 5u);
  EXPECT_FALSE(import.copy("conv1.se.weight", target.back().tensor));
  EXPECT_TRUE(import.copy("conv1.weight", target.front().tensor)) << "it is there";
  EXPECT_THAT(import.notes(), ElementsAre(HasSubstr("1 tensors that were added since")));
}

TEST_F(WeightsTest, OfManyDifferencesEachIsNamed) {
  const auto message_with = [&](int num_differences) {
    auto other = model(10, 3);
    for (int i = 0; i < num_differences; ++i)
      other.push_back({fmt::format("layer{}.weight", i), at::zeros({2})});
    export_weights(files_, path_, other);
    return message_of([&] { import_weights(path_, model(10, 0), kHead); });
  };
  const std::string message = message_with(200);
  for (int i = 0; i < 200; ++i)
    EXPECT_THAT(message, HasSubstr(fmt::format("layer{}.weight: [2] in the file", i)));
  EXPECT_THAT(message_with(1500), HasSubstr("and 500 more tensors")) << "no model has as many";
}

TEST_F(WeightsTest, StrictRefusesWhatIsUsuallyMadeToFit) {
  export_weights(files_, path_, model(1000, 3));
  const ImportOptions adapting{
      .adaptation_of = [](const std::string& name, std::span<const std::int64_t>) {
        return name == "bn1.running_mean"
                   ? std::optional(tensor::Adaptation{
                         [](const at::Tensor& stored) { return stored.repeat({2}); }, "doubled"})
                   : std::nullopt;
      }};
  auto wanted = model(10, 0);
  wanted[1].tensor = at::zeros({8});
  const WeightImport adapted(path_, wanted, kHead, adapting);
  EXPECT_THAT(adapted.notes(), ElementsAre(HasSubstr("fc has 1000"), "bn1.running_mean: doubled"));
  ImportOptions strict = adapting;
  strict.is_strict = true;
  EXPECT_THAT(message_of([&] { WeightImport(path_, wanted, kHead, strict); }),
              AllOf(HasSubstr("bn1.running_mean: the file has [4], wanted [8]"),
                    HasSubstr("fc.weight: the file has [1000, 4], wanted [10, 4]"),
                    HasSubstr("model.pretrained_strict=false")));
}

TEST_F(WeightsTest, WhatWrappersPutBeforeNamesIsLeftOut) {
  auto wrapped = model(10, 3);
  for (NamedTensor& named : wrapped) named.name = "module._orig_mod." + named.name;
  export_weights(files_, path_, wrapped);
  const auto target = model(10, 0);
  const ImportReport report = import_weights(path_, target, kHead);
  EXPECT_EQ(report.num_loaded, 5u);
  EXPECT_THAT(report.notes, ElementsAre("'module._orig_mod.' before all names was left out"));
  EXPECT_TRUE(target[3].tensor.equal(model(10, 3)[3].tensor));
}

/// A checkpoint of model(10, 3) whose average by ema, of all but the counter, is 5.
std::filesystem::path save_averaged(const std::filesystem::path& folder,
                                    const std::string& standing, base::FileSystem& files) {
  std::vector<tensor::StateShard> shards = shards_of(model(10, 3), Layout::kReplicated, 0, 1);
  for (tensor::StateShard& shard : shards_of(model(10, 5), Layout::kReplicated, 0, 1)) {
    if (shard.name == "bn1.num_batches_tracked") continue;
    shard.name = "algorithms.ema/" + shard.name;
    shards.push_back(shard);
  }
  std::filesystem::path path;
  test::run_ranks(1, [&](comm::Communicator& communicator) {
    path = save_checkpoint({.folder = folder, .shards = shards, .standing_weights = standing},
                           communicator, files);
  });
  return path;
}

TEST_F(WeightsTest, OfACheckpointThoseThatStandForTheTrainedOnesAreTaken) {
  const auto loaded = [&](const std::string& standing, const std::string& key) {
    const auto path = save_averaged(dir_.path(), standing, files_);
    const auto target = model(10, 0);
    const WeightImport import(path, target, kHead, {.key = key});
    for (const NamedTensor& named : target) import.copy(named.name, named.tensor);
    EXPECT_EQ(target[2].tensor.item<std::int64_t>(), 3) << "it is no average";
    return std::pair(target[3].tensor.max().item<double>(), base::join(import.notes(), "; "));
  };
  EXPECT_EQ(loaded("", ""), std::pair(3.0, std::string()));
  EXPECT_EQ(loaded("", "trained"), std::pair(3.0, std::string()));
  EXPECT_EQ(loaded("", "ema"), std::pair(5.0, std::string("of the algorithm ema")));
  const auto [value, note] = loaded("ema", "");
  EXPECT_EQ(value, 5);
  EXPECT_THAT(note, AllOf(HasSubstr("of the algorithm ema"), HasSubstr("'trained'")));
  EXPECT_EQ(loaded("ema", "trained"), std::pair(3.0, std::string()));
  EXPECT_EQ(loaded("ema", "ema"), std::pair(5.0, std::string("of the algorithm ema")));
  EXPECT_THAT(message_of([&] { loaded("ema", "swa"); }),
              AllOf(HasSubstr("no weights 'swa'"), HasSubstr("it has ema")));
}

TEST_F(WeightsTest, TheModelOfACheckpointIsTakenWithoutItsOptimizer) {
  const auto path = save_model(dir_.path(), 10, model(10, 3), 0, Layout::kReplicated, 1, files_);
  const auto target = model(10, 0);
  EXPECT_EQ(import_weights(path, target, kHead).num_loaded, 5u);
  EXPECT_TRUE(target[3].tensor.equal(model(10, 3)[3].tensor));
}

TEST_F(WeightsTest, BatchCountersMayBeAbsentOnEitherSide) {
  auto without = model(10, 3);
  without.erase(without.begin() + 2);
  export_weights(files_, path_, without);
  EXPECT_EQ(import_weights(path_, model(10, 0), kHead).num_loaded, 4u);
  export_weights(files_, path_, model(10, 3));
  EXPECT_EQ(import_weights(path_, without, kHead).num_loaded, 4u);
}

TEST_F(WeightsTest, DtypesAreConverted) {
  const std::vector<NamedTensor> half{{"w", at::full({2}, 0.5, at::kHalf)}};
  const std::vector<NamedTensor> target{{"w", at::zeros({2})}};
  export_weights(files_, path_, half);
  EXPECT_THAT(import_weights(path_, target, {}).notes, ElementsAre("converted from F16"));
  EXPECT_EQ(target[0].tensor.sum().item<double>(), 1.0);
}

TEST_F(WeightsTest, ModulesGiveParametersAndBuffers) {
  struct Net : torch::nn::Module {
    Net() {
      register_parameter("weight", at::ones({2}));
      register_buffer("mean", at::zeros({2}));
    }
  };
  struct Outer : torch::nn::Module {
    Outer() { register_module("inner", std::make_shared<Net>()); }
  };
  const Outer outer;
  const auto tensors = named_tensors(outer);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "inner.weight");
  EXPECT_EQ(tensors[1].name, "inner.mean");
  export_weights(files_, path_,
                 std::vector<NamedTensor>{{"inner.weight", at::full({2}, 7.0)},
                                          {"inner.mean", at::full({2}, 8.0)}});
  import_weights(path_, tensors, {});  // into leaves that require gradients
  EXPECT_EQ(outer.parameters()[0].sum().item<double>(), 14);
}

TEST_F(WeightsTest, AFullDiskLeavesTheOldFile) {
  export_weights(files_, path_, model(10, 3));
  const std::string old = base::read_file(path_);
  test::InterruptedFileSystem counting;
  export_weights(counting, path_, model(10, 3));
  for (int operation = 0; operation + 1 < counting.num_operations(); ++operation) {
    test::InterruptedFileSystem full(operation);
    EXPECT_THROW(export_weights(full, path_, model(10, 4)), base::CheckpointError) << operation;
    EXPECT_EQ(base::read_file(path_), old) << operation;
    const std::filesystem::directory_iterator files(path_.parent_path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 1) << operation;
  }
}

TEST_F(WeightsTest, AHeadOfAnotherFormIsLeftInTheFile) {
  export_weights(files_, path_, model(10, 3));
  std::vector<NamedTensor> mlp = model(10, 0);
  mlp[3].name = "fc.fc1.weight";
  mlp[4].name = "fc.fc1.bias";
  EXPECT_THAT(import_weights(path_, mlp, kHead).notes,
              ElementsAre("fc is not in the file in this form: kept as initialised"));
  const std::vector<NamedTensor> features(mlp.begin(), mlp.begin() + 3);
  EXPECT_THAT(import_weights(path_, features, kHead).notes,
              ElementsAre("fc of the file is not used, as this model gives out features"));
  EXPECT_THAT(message_of([&] { import_weights(path_, features, {}); }), HasSubstr("fc.weight"));
}

}  // namespace
}  // namespace paceline::checkpoint
