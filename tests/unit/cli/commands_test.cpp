#include "paceline/cli/commands.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/foreign_table.h"
#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    refuse_foreign_options(arguments, *app::make_registries());
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Commands, UnknownOptionsGetAnAnswer) {
  EXPECT_EQ(refusal({"recipe.yaml", "optimizer.lr=0.1"}), "");
  EXPECT_EQ(refusal({"recipe.yaml", "--epochs", "90"}),
            "--epochs is not an option here: write train.duration=90ep");
  EXPECT_EQ(refusal({"--epochs=90"}), "--epochs is not an option here: write train.duration=90ep");
  EXPECT_EQ(refusal({"--frobnicate"}), "unknown option --frobnicate; --help lists the options");
  EXPECT_THAT(refusal({"--hf-token", "sesame"}),
              AllOf(HasSubstr("secret"), Not(HasSubstr("sesame"))));
}

TEST(Commands, AProgramOfOnesOwnListsThem) {
  const std::string help = program_help("own/series");
  EXPECT_THAT(help, HasSubstr("usage: own/series train|"));
  EXPECT_THAT(help, HasSubstr("paceline launch --nproc 2 -- own/series train RECIPE"));
  for (const Command& command : commands()) EXPECT_THAT(help, HasSubstr(command.name));
}

TEST(Commands, NamesOfOtherTrainersLeadToOptionsThatAreThere) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_train({"--help"}, *app::make_registries()), 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  for (const app::ForeignName& foreign : app::foreign_names()) {
    if (!foreign.key.starts_with("--")) continue;
    EXPECT_THAT(help, ::testing::ContainsRegex("[ ,]" + std::string(foreign.key) + "[ ,{=\n]"))
        << foreign.name;
  }
}

}  // namespace
}  // namespace paceline::cli
