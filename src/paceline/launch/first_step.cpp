#include "paceline/launch/first_step.h"

#include <limits>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launch {

FirstStepNotice::FirstStepNotice(const Environment& environment) {
  const auto number =
      environment.get_int(kFirstStepVariable, STDERR_FILENO + 1, std::numeric_limits<int>::max());
  if (!number) return;
  // A variable that has outlived its launcher may name what somebody else writes to.
  struct stat status {};
  if (fstat(*number, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  fcntl(*number, F_SETFD, FD_CLOEXEC);
  pipe_.reset(*number);
}

void FirstStepNotice::tell(std::int64_t step) noexcept {
  if (!pipe_.is_open()) return;
  const std::string line = std::to_string(step) + "\n";
  // Nobody to read it is no error: the run goes on.
  [[maybe_unused]] const ssize_t written = write(pipe_.get(), line.data(), line.size());
  pipe_.reset();
}

}  // namespace paceline::launch
