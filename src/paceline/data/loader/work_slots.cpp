#include "paceline/data/loader/work_slots.h"

#include "paceline/base/error.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace paceline::data {
namespace {

[[noreturn]] void fail(const char* action) {
  throw base::DataError(fmt::format("data.pool: node: cannot {}: {}; use data.pool: rank", action,
                                    std::strerror(errno)));
}

int open_again(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail("open the ranks' common slots");
  return descriptor;
}

/// A lock belongs to what open() made, not to the process, so that threads exclude each other too.
bool set_lock(int descriptor, short type, int slot, bool waits) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = slot;
  range.l_len = 1;
  while (fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) fail("lock one of the ranks' common slots");
  }
  return true;
}

}  // namespace

std::shared_ptr<const WorkSlots> WorkSlots::create(int count) {
  const int descriptor = memfd_create("paceline-slots", MFD_CLOEXEC);
  if (descriptor < 0) fail("make the ranks' common slots");
  return std::shared_ptr<const WorkSlots>(new WorkSlots(descriptor, count));
}

std::shared_ptr<const WorkSlots> WorkSlots::join(const std::string& path, int count) {
  return std::shared_ptr<const WorkSlots>(new WorkSlots(open_again(path), count));
}

WorkSlots::~WorkSlots() { ::close(descriptor_); }

std::string WorkSlots::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

SlotLease::SlotLease(const WorkSlots& slots, int first_choice)
    : slots_(slots),
      first_choice_(first_choice % slots.count()),
      descriptor_(open_again(slots.path())) {}

SlotLease::~SlotLease() { ::close(descriptor_); }

bool SlotLease::lock(int slot, bool waits) {
  if (!set_lock(descriptor_, F_WRLCK, slot, waits)) return false;
  taken_ = slot;
  return true;
}

void SlotLease::take() {
  for (int i = 0; i < slots_.count(); ++i) {
    if (lock((first_choice_ + i) % slots_.count(), /*waits=*/false)) return;
  }
  lock(first_choice_, /*waits=*/true);
}

void SlotLease::leave() noexcept {
  if (taken_ < 0) return;
  set_lock(descriptor_, F_UNLCK, taken_, /*waits=*/false);  // an own lock can always be given back
  taken_ = -1;
}

}  // namespace paceline::data
