#include "paceline/base/system_limit.h"

#include "paceline/base/error.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace paceline::base {
namespace {

std::string limit_text(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "none";
  return std::to_string(limit.rlim_cur);
}

}  // namespace

std::string limit_behind(int error_number) {
  switch (error_number) {
    case EAGAIN:
      return fmt::format(
          "no more threads or processes can be started: raise the user's limit (`ulimit -u`, now "
          "{}) or the container's (pids.max)",
          limit_text(RLIMIT_NPROC));
    case EMFILE:
      return fmt::format(
          "no more files and connections can be opened: raise the limit of descriptors "
          "(`ulimit -n`, now {})",
          limit_text(RLIMIT_NOFILE));
    case ENFILE:
      return "the machine has too many files open: raise fs.file-max";
    case ENOMEM:
      return fmt::format("there is no memory left: free some, or raise `ulimit -v` (now {})",
                         limit_text(RLIMIT_AS));
    default:
      return {};
  }
}

std::string limit_named_in(std::string_view message) {
  for (const int error_number : {EAGAIN, EMFILE, ENFILE, ENOMEM})
    if (message.find(std::strerror(error_number)) != std::string_view::npos)
      return limit_behind(error_number);
  return {};
}

void require_threads(int count) {
  std::latch all_tried(1);
  std::vector<std::thread> threads;
  int error_number = 0;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([&] { all_tried.wait(); });
  } catch (const std::system_error& error) {
    error_number = error.code().value();
  }
  const std::size_t started = threads.size();
  all_tried.count_down();
  for (std::thread& thread : threads) thread.join();
  if (error_number == 0) return;
  throw ConfigError(
      fmt::format("this process needs some {} threads, but only {} could be started; {}", count,
                  started, limit_behind(error_number)));
}

void require_descriptors(int count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(count)) return;
  throw ConfigError(fmt::format(
      "this process needs some {} descriptors for files and connections, but may have {}: raise "
      "the limit (`ulimit -n`)",
      count, limit.rlim_cur));
}

void require_more_descriptors(int count) {
  constexpr std::ptrdiff_t kBesides = 16;
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (error) throw ConfigError(limit_behind(error.value()));
  require_descriptors(static_cast<int>(std::distance(begin(open), end(open)) + kBesides) + count);
}

}  // namespace paceline::base
