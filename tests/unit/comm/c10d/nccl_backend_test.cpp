#include "paceline/comm/c10d/nccl_backend.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

/// Sets a variable, or unsets it, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  std::string now() const {
    const char* value = std::getenv(name_);
    return value == nullptr ? "unset" : value;
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(NcclBackend, ItsWatchdogMayNotEndTheProcessWhateverALauncherSays) {
  const Variable handling("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");  // as torchrun sets it
  const Variable rethrow("TORCH_NCCL_RETHROW_CUDA_ERRORS", nullptr);
  const Variable monitoring("TORCH_NCCL_ENABLE_MONITORING", nullptr);
  const Variable dump("TORCH_NCCL_DUMP_ON_TIMEOUT", nullptr);
  const Variable dump_time("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", nullptr);
  const Variable interface("NCCL_SOCKET_IFNAME", nullptr);
  set_nccl_environment("");
  EXPECT_EQ(handling.now(), "2");
  EXPECT_EQ(rethrow.now(), "0");
  EXPECT_EQ(monitoring.now(), "0");
  EXPECT_EQ(dump.now(), "0");
  EXPECT_EQ(dump_time.now(), "0");
  EXPECT_EQ(interface.now(), "unset") << "NCCL chooses";
}

TEST(NcclBackend, TheInterfaceReachesNcclUnlessTheUserNamesItsOwn) {
  {
    const Variable interface("NCCL_SOCKET_IFNAME", nullptr);
    set_nccl_environment("eth1");
    EXPECT_EQ(interface.now(), "=eth1") << "eth1, not eth10";
  }
  const Variable interface("NCCL_SOCKET_IFNAME", "ib0");
  set_nccl_environment("eth1");
  EXPECT_EQ(interface.now(), "ib0");
}

}  // namespace
}  // namespace paceline::comm
