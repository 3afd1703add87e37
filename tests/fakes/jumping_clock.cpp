// A system clock that jumps back and forth, for LD_PRELOAD: what tells the time of day is off by an
// hour, ten years or minus a day, another one every 50 ms. Clocks that only ever run forward are
// left alone.

#include <cstdint>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t kOffsets[] = {0, 3600, -86400, 315360000};

/// The kernel's own, past the C library.
int read_clock(clockid_t clock, timespec* time) {
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

std::int64_t offset_s() {
  timespec steady{};
  read_clock(CLOCK_MONOTONIC, &steady);
  return kOffsets[(steady.tv_sec * 20 + steady.tv_nsec / 50000000) % 4];
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int status = read_clock(clock, time);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += offset_s();
  return status;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  const int status = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return status;
}

time_t time(time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
