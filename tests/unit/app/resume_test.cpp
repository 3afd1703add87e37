#include "paceline/app/resume.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "support/run_ranks.h"
#include "support/unsynced_file_system.h"

#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResumeTest : public ::testing::Test {
 protected:
  Recipe bound(const std::string& yaml, int world_size) const {
    return config::bind<Recipe>(config::parse_yaml(yaml, "recipe"),
                                registries_->context(world_size));
  }
  static config::Node resolved(const Recipe& recipe) {
    return config::to_node(config::describe<Recipe>(), &recipe);
  }

  /// A checkpoint of such a run on so many ranks.
  checkpoint::CheckpointReader saved(const std::string& yaml, int world_size,
                                     nlohmann::json state = {}) {
    checkpoint::Manifest manifest;
    manifest.state = std::move(state);
    manifest.environment.world_size = world_size;
    manifest.inputs = {{"training data", "60 images, a"}, {"validation data", "9 images, b"}};
    manifest.config = config::to_yaml(resolved(bound(yaml, world_size)));
    files_.create(folder_.path() / checkpoint::kManifestFile)->write(encode(manifest));
    return checkpoint::CheckpointReader(folder_.path());
  }

  struct Fitted {
    Recipe recipe;
    config::Node resolved;
    std::vector<std::string> notes;
  };
  Fitted fit(const checkpoint::CheckpointReader& reader, const std::string& yaml,
             int world_size) const {
    Fitted fitted{bound(yaml, world_size), {}, {}};
    fitted.resolved = resolved(fitted.recipe);
    fitted.notes =
        fit_to_checkpoint(reader, *registries_, world_size, fitted.resolved, fitted.recipe);
    return fitted;
  }
  std::string refusal(const checkpoint::CheckpointReader& reader, const std::string& yaml,
                      int world_size) const {
    try {
      fit(reader, yaml, world_size);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }

  base::TempDir folder_;
  paceline::test::UnsyncedFileSystem files_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(ResumeTest, AnotherNumberOfRanksKeepsTheGlobalBatch) {
  const std::string yaml = "data: {name: synthetic, batch_size_per_rank: 6}";
  const auto reader = saved(yaml, 2);
  EXPECT_THAT(fit(reader, yaml, 2).notes, IsEmpty());
  for (const int world_size : {1, 3, 5}) {
    const Fitted fitted = fit(reader, yaml, world_size);
    EXPECT_EQ(fitted.recipe.data.global_batch_size, 12);
    EXPECT_EQ(fitted.recipe.data.batch_size_per_rank, std::nullopt);
    EXPECT_THAT(fitted.notes, ElementsAre(HasSubstr("the global batch stays 12 samples")));
  }
}

TEST_F(ResumeTest, TheGlobalBatchIsKeptOverAnyNumberOfResumes) {
  const std::string yaml = "data: {name: synthetic, batch_size_per_rank: 6}";
  // Begun on 2 ranks, then on 1.
  const auto reader = saved(yaml, 1, {{"clock", {{"samples_per_step", 12}}}});
  for (const int world_size : {1, 3}) {
    const Fitted fitted = fit(reader, yaml, world_size);
    EXPECT_EQ(fitted.recipe.data.global_batch_size, 12);
    EXPECT_EQ(fitted.resolved.find_path("data.batch_size_per_rank")->text, "6");
  }
  EXPECT_EQ(fit(reader, yaml, 2).recipe.data.batch_size_per_rank, 6);
  EXPECT_THAT(fit(reader, yaml, 2).notes, IsEmpty());
}

TEST_F(ResumeTest, TheSameBatchMayBeWrittenInAnotherWay) {
  const auto reader = saved("data: {name: synthetic, batch_size_per_rank: 6}", 2);
  const Fitted fitted = fit(reader, "data: {name: synthetic, global_batch_size: 12}", 3);
  EXPECT_EQ(fitted.recipe.data.global_batch_size, 12);
  EXPECT_THAT(fit(reader, "data: {name: synthetic, batch_size_per_rank: 4}", 3).notes,
              ElementsAre("data.batch_size_per_rank: was 6, is 4"));
}

TEST_F(ResumeTest, AnotherBatchIsRefusedWithBothNumbers) {
  const auto reader = saved("data: {name: synthetic, batch_size_per_rank: 6}", 2);
  EXPECT_THAT(refusal(reader, "data: {name: synthetic, batch_size_per_rank: 5}", 2),
              AllOf(HasSubstr("it was 12 samples a step"), HasSubstr("means 10 on 2"),
                    HasSubstr("data.global_batch_size=12 data.batch_size_per_rank=null")));
  EXPECT_THAT(refusal(reader, "data: {name: synthetic, global_batch_size: 6}", 2),
              HasSubstr("means 6 on 2"));
  EXPECT_THAT(refusal(reader, "data: {name: synthetic}", 2), HasSubstr("means 256 on 2"));
}

TEST_F(ResumeTest, TheStrategyAndThePathOfTheDataMayChange) {
  const auto reader = saved("data: {name: image_folder, path: /a}", 2);
  const Fitted fitted = fit(reader,
                            "data: {name: image_folder, path: /b}\n"
                            "parallel: {strategy: fsdp, fsdp: {prefetch: 2}}",
                            2);
  EXPECT_THAT(fitted.notes, ::testing::UnorderedElementsAre("data.path: was /a, is /b",
                                                            "parallel.strategy: was auto, is fsdp",
                                                            "parallel.fsdp.prefetch: was 1, is 2"));
  EXPECT_THAT(refusal(reader, "data: {name: image_folder, path: /a}\nrun: {seed: 7}", 2),
              HasSubstr("run.seed: was"));
}

TEST_F(ResumeTest, OtherDataAreNamed) {
  const auto reader = saved("data: synthetic", 1);
  EXPECT_NO_THROW(check_inputs(
      reader, {{"training data", "60 images, a"}, {"validation data", "9 images, b"}}));
  try {
    check_inputs(reader, {{"training data", "73 images, c"}, {"validation data", "9 images, b"}});
    FAIL();
  } catch (const base::CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("training data: was 60 images, a, is 73 images, c"));
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("validation")));
  }
}

TEST_F(ResumeTest, AutoKnowsWhereTheRunSavedBefore) {
  const fs::path run = folder_.path() / "run";
  const fs::path before = folder_.path() / "before";
  fs::create_directories(run);
  fs::create_directories(before / "step-00000004");
  std::ofstream(run / "config.yaml") << "checkpoint: {dir: " << before.string() << "}\n";
  saved("data: synthetic", 1);
  fs::rename(folder_.path() / checkpoint::kManifestFile,
             before / "step-00000004" / checkpoint::kManifestFile);
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const RunDirectory directory({.wanted = run}, /*is_resuming=*/true, communicator, files_);
    const auto reader = open_resumed("auto", directory, files_, communicator);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->directory(), before / "step-00000004");
  });
}

TEST_F(ResumeTest, ADirectoryThatHoldsARunGoesOnWithNoOther) {
  const fs::path run = folder_.path() / "run";
  const fs::path other = folder_.path() / "other" / "checkpoints" / "step-00000000";
  fs::create_directories(run);
  fs::create_directories(other);
  saved("data: synthetic", 1);
  fs::rename(folder_.path() / checkpoint::kManifestFile, other / checkpoint::kManifestFile);
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const RunDirectory directory({.wanted = run}, /*is_resuming=*/true, communicator, files_);
    const auto open = [&] {
      return open_resumed(other.string(), directory, files_, communicator)->directory();
    };
    EXPECT_EQ(open(), other) << "a new directory takes any";
    std::ofstream(run / "config.yaml") << "{}\n";
    EXPECT_THAT(open, ::testing::ThrowsMessage<base::Error>(
                          HasSubstr(run.string() + " holds another run than")));
    // It went on from there before, and was killed.
    fs::copy(other, run / "checkpoints" / "step-00000000", fs::copy_options::recursive);
    EXPECT_EQ(open(), other);
  });
}

TEST_F(ResumeTest, ImagesStayPreparedAsTheyWere) {
  const auto kept = [&](const std::string& before, const std::string& now) {
    const auto reader = saved("data: {preprocessing: " + before + "}", 1);
    Recipe recipe = bound("data: {preprocessing: " + now + "}", 1);
    config::Node node = resolved(recipe);
    keep_preprocessing(reader, *registries_, node, recipe);
    EXPECT_TRUE(config::same_value(node, resolved(recipe)));
    EXPECT_THAT(fit_to_checkpoint(reader, *registries_, 1, node, recipe), IsEmpty());
    return recipe.data.preprocessing;
  };
  EXPECT_EQ(kept("{resize: 248, crop: 224, mean: [0, 0, 0]}", "{}"),
            (Preprocessing{.mean = {{0, 0, 0}}, .resize = 248, .crop = 224}));
  EXPECT_EQ(kept("{}", "{}"), Preprocessing());

  const auto reader = saved("data: {preprocessing: {mean: [0, 0, 0]}}", 1);
  Recipe recipe = bound("data: {preprocessing: {mean: [1, 1, 1]}}", 1);
  config::Node node = resolved(recipe);
  keep_preprocessing(reader, *registries_, node, recipe);
  EXPECT_THAT(fit_to_checkpoint(reader, *registries_, 1, node, recipe),
              ElementsAre("data.preprocessing.mean: was [0, 0, 0], is [1, 1, 1]"));
}

TEST_F(ResumeTest, AutoDoesNotStartARunAnewThatDiedWhileItWentBack) {
  const fs::path run = folder_.path() / "run";
  fs::create_directories(run / "checkpoints" / "branch-1" / "step-00000004");
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const RunDirectory directory({.wanted = run}, /*is_resuming=*/true, communicator, files_);
    EXPECT_THAT([&] { open_resumed("auto", directory, files_, communicator); },
                ::testing::ThrowsMessage<base::Error>(HasSubstr("in its branches")));
  });
}

TEST_F(ResumeTest, AutoWithoutACheckpointIsNoResume) {
  paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
    const RunDirectory directory({.wanted = folder_.path() / "run"}, true, communicator, files_);
    EXPECT_EQ(open_resumed("auto", directory, files_, communicator), nullptr);
    EXPECT_THROW(open_resumed((folder_.path() / "none").string(), directory, files_, communicator),
                 base::Error);
  });
}

}  // namespace
}  // namespace paceline::app
