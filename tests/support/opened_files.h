#pragma once

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include <sys/inotify.h>
#include <unistd.h>

namespace paceline::test {

/// Counts how often a folder, those in it and their files are opened, by whomever.
class OpenedFiles {
 public:
  explicit OpenedFiles(const std::filesystem::path& folder) {
    if (queue_ < 0) throw std::system_error(errno, std::generic_category(), "inotify");
    watch(folder, "");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_directory()) watch(entry.path(), entry.path().lexically_relative(folder) / "");
    }
    take();
  }
  ~OpenedFiles() { close(queue_); }
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

  /// Since the last call, by path below the folder; one that ends with a '/' is a folder's.
  std::map<std::string, int> take() {
    std::map<std::string, int> counts;
    alignas(inotify_event) std::array<char, 1 << 16> events;
    for (;;) {
      const ssize_t size = read(queue_, events.data(), events.size());
      if (size <= 0) return counts;
      for (ssize_t at = 0; at < size;) {
        inotify_event event{};
        std::memcpy(&event, events.data() + at, sizeof event);
        const char* name = event.len > 0 ? events.data() + at + sizeof event : "";
        const bool is_known = *name == '\0' || (event.mask & IN_ISDIR) == 0;  // told twice, else
        if ((event.mask & IN_OPEN) != 0 && is_known) ++counts[folders_[event.wd] + name];
        at += static_cast<ssize_t>(sizeof event) + event.len;
      }
    }
  }

 private:
  void watch(const std::filesystem::path& folder, const std::string& name) {
    // The system tells equal events in a row as one: with what closes between them none are.
    const int number = inotify_add_watch(queue_, folder.c_str(), IN_OPEN | IN_CLOSE);
    if (number < 0) throw std::system_error(errno, std::generic_category(), "inotify");
    folders_[number] = name;
  }

  int queue_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::map<int, std::string> folders_;
};

}  // namespace paceline::test
