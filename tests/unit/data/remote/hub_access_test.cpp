#include "paceline/data/remote/hub_access.h"

#include "support/temp_folder.h"

#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// find_hub_access() with these variables and none of the others that it looks at.
HubAccess access_with(const std::map<std::string, std::string>& values) {
  std::map<std::string, std::string> before;
  const auto set = [](const std::string& name, const std::string& value) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  };
  for (const char* name : {"HF_ENDPOINT", "HF_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "HF_HUB_CACHE",
                           "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
                           "XDG_CACHE_HOME", "HOME"}) {
    const char* const value = std::getenv(name);
    before[name] = value == nullptr ? "" : value;
    const auto wanted = values.find(name);
    set(name, wanted == values.end() ? "" : wanted->second);
  }
  HubAccess access = find_hub_access();
  for (const auto& [name, value] : before) set(name, value);
  return access;
}

TEST(HubAccess, IsWhereHuggingFacesProgramsLook) {
  EXPECT_EQ(access_with({{"HOME", "/h"}}).endpoint, "https://huggingface.co");
  EXPECT_EQ(access_with({{"HF_ENDPOINT", "http://mirror//"}}).endpoint, "http://mirror");
  EXPECT_EQ(access_with({{"HOME", "/h"}}).cache, "/h/.cache/huggingface/hub");
  EXPECT_EQ(access_with({{"XDG_CACHE_HOME", "/x"}}).cache, "/x/huggingface/hub");
  EXPECT_EQ(access_with({{"HF_HOME", "/f"}, {"XDG_CACHE_HOME", "/x"}}).cache, "/f/hub");
  EXPECT_EQ(access_with({{"HF_HUB_CACHE", "/c"}, {"HF_HOME", "/f"}}).cache, "/c");
  EXPECT_EQ(access_with({{"HUGGINGFACE_HUB_CACHE", "/c"}}).cache, "/c");
}

TEST(HubAccess, IsOfflineByHuggingFacesSwitches) {
  EXPECT_FALSE(access_with({}).is_offline);
  for (const char* value : {"1", "ON", "yes", "True"})
    EXPECT_TRUE(access_with({{"HF_HUB_OFFLINE", value}}).is_offline) << value;
  for (const char* value : {"0", "off", "2"})
    EXPECT_FALSE(access_with({{"HF_HUB_OFFLINE", value}}).is_offline) << value;
  EXPECT_TRUE(access_with({{"TRANSFORMERS_OFFLINE", "1"}}).is_offline);
}

TEST(HubAccess, FindsTheToken) {
  const test::TempFolder folder;
  const std::string file = folder.write("token", " of the file\n").string();
  const std::string home = folder.path().string();
  EXPECT_EQ(access_with({{"HF_TOKEN", " given "}, {"HF_HOME", home}}).token, "given");
  EXPECT_EQ(access_with({{"HF_HOME", home}}).token, "of the file");
  EXPECT_EQ(access_with({{"HF_TOKEN_PATH", file}}).token, "of the file");
  EXPECT_EQ(access_with({{"HF_HOME", home + "/none"}}).token, "");
}

TEST(HubAccess, EscapesForUrls) {
  EXPECT_EQ(escape_url("a b/ä?", true), "a%20b/%C3%A4%3F");
  EXPECT_EQ(escape_url("refs/pr/1", false), "refs%2Fpr%2F1");
}

}  // namespace
}  // namespace paceline::data
