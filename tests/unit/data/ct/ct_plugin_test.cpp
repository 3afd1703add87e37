#include "paceline/data/ct/ct_plugin.h"

#include "paceline/base/error.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(CtPluginLoading, SaysWhyItCannotBeLoaded) {
  ASSERT_EQ(setenv("PACELINE_CT_PLUGIN", "/absent/plugin.so", 1), 0);
  EXPECT_THAT([] { load_ct_plugin(); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("CT scans need /absent/plugin.so"), HasSubstr("No such file"))));
  ASSERT_EQ(unsetenv("PACELINE_CT_PLUGIN"), 0);
}

TEST(CtPluginLoading, RefusesALibraryThatIsNone) {
  ASSERT_EQ(setenv("PACELINE_CT_PLUGIN", "libz.so.1", 1), 0);
  EXPECT_THAT([] { load_ct_plugin(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("is of another version: build it anew")));
  ASSERT_EQ(unsetenv("PACELINE_CT_PLUGIN"), 0);
}

TEST(CtPluginLoading, FindsItBesideTheProgram) { EXPECT_EQ(&load_ct_plugin(), &load_ct_plugin()); }

}  // namespace
}  // namespace paceline::data
