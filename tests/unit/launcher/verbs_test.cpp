#include "paceline/launcher/verbs.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

TEST(VerbsTest, HelpListsEachVerb) {
  const std::string help = help_text();
  for (const Verb& verb : verbs()) {
    EXPECT_THAT(help, testing::HasSubstr("\n  " + std::string(verb.name)));
    EXPECT_THAT(help, testing::HasSubstr(std::string(verb.summary)));
    EXPECT_EQ(find_verb(verb.name), &verb);
  }
  EXPECT_EQ(find_verb("trian"), nullptr);
}

}  // namespace
}  // namespace paceline::launcher
