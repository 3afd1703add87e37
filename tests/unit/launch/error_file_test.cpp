#include "paceline/launch/error_file.h"

#include "paceline/base/file.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace paceline::launch {
namespace {

class ErrorFileTest : public ::testing::Test {
 protected:
  ~ErrorFileTest() override { unsetenv(kErrorFileVariable.data()); }
  std::optional<std::string> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_error_file(path_);
  }

  base::TempDir folder_;
  std::filesystem::path path_ = folder_.path() / "rank_0000_error.json";
};

TEST_F(ErrorFileTest, IsReadAsItWasWritten) {
  write_error_file("nobody asked for it");
  setenv(kErrorFileVariable.data(), path_.c_str(), 1);
  EXPECT_EQ(read_error_file(path_), std::nullopt);
  write_error_file("the cause \xff\nand \"the cure\"");
  EXPECT_EQ(read_error_file(path_), "the cause \xef\xbf\xbd\nand \"the cure\"");
  const std::string json = base::read_file(path_);  // torchrun reads the time, too
  EXPECT_NE(json.find(R"("timestamp":"1)"), json.npos) << json;
  setenv(kErrorFileVariable.data(), "/absent/file", 1);
  write_error_file("lost");  // without a word
}

TEST_F(ErrorFileTest, OfTorchsRecord) {
  EXPECT_EQ(read(R"({"message": {"message": "ValueError: x", "extraInfo": {"timestamp": "1"}}})"),
            "ValueError: x");
  EXPECT_EQ(read(R"({"message": "plain"})"), "plain");
  for (const char* other : {"", "{", "[]", "{}", R"({"message": 3})", R"({"message": {}})"})
    EXPECT_EQ(read(other), std::nullopt) << other;
}

}  // namespace
}  // namespace paceline::launch
