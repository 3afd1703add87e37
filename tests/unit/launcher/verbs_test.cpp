#include "paceline/launcher/verbs.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

TEST(VerbsTest, HelpListsEachVerb) {
  const std::string help = help_text();
  for (const Verb& verb : verbs()) {
    EXPECT_THAT(help, testing::HasSubstr("\n  " + std::string(verb.name)));
    EXPECT_THAT(help, testing::HasSubstr(std::string(verb.summary)));
    EXPECT_EQ(&require_verb(verb.name), &verb);
  }
}

TEST(VerbsTest, AWrongVerbIsToldTheNearest) {
  EXPECT_THAT([] { require_verb("trian"); },
              testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("did you mean train?")));
  EXPECT_THROW(require_verb("frobnicate"), base::ConfigError);
}

TEST(VerbsTest, AVerbOfAnotherProgramIsToldOurs) {
  const auto advice_on = [](const std::string& name, const std::string& advice) {
    EXPECT_THAT([&] { require_verb(name); },
                testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr(advice)));
  };
  advice_on("fit", "paceline train RECIPE");
  advice_on("validate", "paceline eval RUN");
  advice_on("test", "paceline eval RUN");
  advice_on("torchrun", "paceline launch --nproc N -- PROGRAM");
}

TEST(VerbsTest, HelpIsAskedForBeforeTheProgram) {
  const auto asks = [](std::vector<std::string> arguments) { return asks_for_help(arguments); };
  EXPECT_TRUE(asks({"--nproc", "2", "-h"}));
  EXPECT_TRUE(asks({"--help", "--", "ls"}));
  EXPECT_FALSE(asks({"--", "ls", "--help"}));
  EXPECT_THAT(usage_text("stop"),
              testing::StartsWith("usage: paceline stop [--timeout SECONDS] RUN\n"));
}

}  // namespace
}  // namespace paceline::launcher
