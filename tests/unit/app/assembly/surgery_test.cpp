#include "paceline/app/assembly/surgery.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

const checkpoint::Surgery kBlurred{
    "blurpool", "{min_channels: 4}", {{"convolutions", {"layer2.0.conv1"}}}};

class SurgeryTest : public ::testing::Test {
 protected:
  /// "algorithms.blurpool" with these options, or none for "".
  Recipe recipe(const std::string& algorithms) const {
    return config::bind<Recipe>(
        config::parse_yaml("model: resnet18\ndata: synthetic\n" + algorithms, "recipe.yaml"),
        registries_->context(1));
  }
  Recipe rebuilt(const std::optional<checkpoint::SurgeryRecord>& record, const std::string& saved,
                 const std::string& now) const {
    checkpoint::Manifest manifest;
    manifest.surgery = record;
    Recipe changed = recipe(now);
    rebuild_by_record(manifest, "run/step-1", *registries_, recipe(saved), changed);
    return changed;
  }
  std::string refusal(const checkpoint::SurgeryRecord& record, const std::string& saved,
                      const std::string& now) const {
    try {
      rebuilt(record, saved, now);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }
  static std::int64_t min_channels(const Recipe& recipe) {
    const config::Component& component = recipe.algorithms.at("blurpool");
    return std::stoll(
        config::to_node(*component.info, component.options.get()).find("min_channels")->text);
  }

  std::unique_ptr<Registries> registries_ = make_registries();
};

constexpr const char* kNone = "";
constexpr const char* kSame = "algorithms: {blurpool: {min_channels: 4}}";
constexpr const char* kOther = "algorithms: {blurpool: {min_channels: 5}}";

TEST_F(SurgeryTest, ARecipeGetsWhatTheRecordTells) {
  EXPECT_EQ(min_channels(rebuilt({{kBlurred}}, kNone, kNone)), 4) << "as from model.pretrained";
  EXPECT_EQ(min_channels(rebuilt({{kBlurred}}, kSame, kSame)), 4);
  const Recipe mixed =
      rebuilt({{kBlurred}}, kSame, "algorithms: {blurpool: {min_channels: 4}, mixup: }");
  EXPECT_EQ(mixed.algorithms.size(), 2u) << "mixup changes no network";
}

TEST_F(SurgeryTest, ARecipeThatContradictsIsRefused) {
  EXPECT_THAT(refusal({kBlurred}, kSame, kOther),
              AllOf(HasSubstr("run/step-1"), HasSubstr("algorithms.blurpool"),
                    HasSubstr("min_channels: 4"), HasSubstr("min_channels: 5")));
  EXPECT_THAT(refusal({kBlurred}, kSame, kNone),
              HasSubstr("algorithms.blurpool: it was there, and is taken out"));
  EXPECT_THAT(refusal({}, kNone, kSame), HasSubstr("algorithms.blurpool: it was not there"));
}

TEST_F(SurgeryTest, ACheckpointWithoutARecordGoesByTheRecipe) {
  EXPECT_EQ(min_channels(rebuilt(std::nullopt, kSame, kOther)), 5);
  EXPECT_THAT(rebuilt(std::nullopt, kSame, kNone).algorithms, IsEmpty());
}

TEST_F(SurgeryTest, AnAlgorithmOfAnotherProgramIsNamed) {
  EXPECT_THAT(refusal({{"graft", "{}", {}}}, kNone, kNone),
              AllOf(HasSubstr("'graft'"), HasSubstr("has not got")));
}

TEST_F(SurgeryTest, OptionsThatARecordLacksHaveTheirDefaults) {
  EXPECT_EQ(refusal({{"blurpool", "{}", {}}}, kNone, "algorithms: {blurpool: }"), "");
}

TEST_F(SurgeryTest, OtherLayersAreRefused) {
  EXPECT_NO_THROW(check_surgery({kBlurred}, {kBlurred}, "here"));
  checkpoint::Surgery more = kBlurred;
  more.layers["convolutions"].push_back("layer3.0.conv1");
  EXPECT_THAT(
      [&] { check_surgery({more}, {kBlurred}, "here"); },
      ThrowsMessage<base::CheckpointError>(AllOf(HasSubstr("here"), HasSubstr("layer3.0.conv1"))));
  EXPECT_THROW(check_surgery({}, {kBlurred}, "here"), base::CheckpointError);
  EXPECT_THROW(check_surgery({more, kBlurred}, {kBlurred, more}, "here"), base::CheckpointError)
      << "the order counts";
}

TEST_F(SurgeryTest, WeightsBringTheirs) {
  const paceline::test::TempFolder folder;
  const auto weights = folder.path() / "weights.safetensors";
  base::RealFileSystem files;
  checkpoint::export_weights(
      files, weights, std::vector<checkpoint::TensorSource>(),
      {{std::string(checkpoint::kSurgeryKey), checkpoint::surgery_to_json({kBlurred}).dump()}});
  Recipe plain = recipe(kNone);
  EXPECT_THAT(take_surgery_of_weights(*registries_, plain), IsEmpty()) << "it names no weights";
  plain.model.pretrained = weights.string();
  EXPECT_THAT(take_surgery_of_weights(*registries_, plain),
              ElementsAre(HasSubstr("blurpool: 1 convolutions (layer2.0.conv1)")));
  EXPECT_EQ(min_channels(plain), 4);
  EXPECT_THAT(take_surgery_of_weights(*registries_, plain), IsEmpty()) << "it has it already";
  Recipe other = recipe(kOther);
  other.model.pretrained = weights.string();
  EXPECT_THROW(take_surgery_of_weights(*registries_, other), base::ConfigError);
}

}  // namespace
}  // namespace paceline::app
