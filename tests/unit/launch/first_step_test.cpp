#include "paceline/launch/first_step.h"

#include "paceline/base/error.h"

#include <array>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

class FirstStepTest : public ::testing::Test {
 protected:
  FirstStepTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    reader_.reset(ends[0]);
    writer_ = ends[1];
  }
  ~FirstStepTest() override { std::signal(SIGPIPE, old_sigpipe_); }

  static Environment naming(const std::string& text) {
    Environment environment;
    environment.set(kFirstStepVariable, text);
    return environment;
  }
  std::string read_to_end() {
    std::string text;
    char byte = 0;
    while (read(reader_.get(), &byte, 1) == 1) text += byte;
    return text;
  }

  Descriptor reader_;
  int writer_ = -1;
  void (*old_sigpipe_)(int) = std::signal(SIGPIPE, SIG_IGN);
};

TEST_F(FirstStepTest, IsToldOnce) {
  FirstStepNotice notice(naming(std::to_string(writer_)));
  EXPECT_EQ(fcntl(writer_, F_GETFD), FD_CLOEXEC) << "a rank's children are not to hold it open";
  notice.tell(13);
  notice.tell(14);
  EXPECT_EQ(read_to_end(), "13\n");
}

TEST_F(FirstStepTest, IsToldToNobody) {
  FirstStepNotice unasked((Environment()));
  unasked.tell(1);
  FirstStepNotice notice(naming(std::to_string(writer_)));
  reader_.reset();
  notice.tell(1);
}

TEST_F(FirstStepTest, GoesIntoAPipeAlone) {
  const Descriptor file(open("/tmp", O_TMPFILE | O_RDWR, 0600));
  ASSERT_TRUE(file.is_open());
  FirstStepNotice(naming(std::to_string(file.get()))).tell(1);
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 0);
  FirstStepNotice(naming("100000")).tell(1);
  EXPECT_THROW(FirstStepNotice(naming("1")), base::ConfigError) << "standard output";
  EXPECT_THROW(FirstStepNotice(naming("x")), base::ConfigError);
  close(writer_);
}

}  // namespace
}  // namespace paceline::launch
