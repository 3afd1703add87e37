#include "paceline/launcher/sweep/sweep_lock.h"

#include "paceline/base/error.h"

#include <memory>

#include <gmock/gmock.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

TEST(SweepLockTest, OneProcessHoldsAFolder) {
  const base::TempDir folder;
  base::RealFileSystem files;
  auto lock = std::make_unique<SweepLock>(folder.path() / "new", files);
  EXPECT_THAT([&] { SweepLock(folder.path() / "new", files); },
              testing::ThrowsMessage<base::CheckpointError>(
                  testing::HasSubstr(fmt::format("is in use by process {}: wait", getpid()))));
  const SweepLock other(folder.path() / "other", files);
  lock.reset();
  const SweepLock again(folder.path() / "new", files);
}

}  // namespace
}  // namespace paceline::launcher
