#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace paceline::data {

/// Damages bytes in the ways that disks, copies and attackers do.
inline void mutate(std::string& bytes, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return random() % std::max<std::size_t>(bound, 1); };
  const std::size_t count = 1 + below(3);
  for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
    const std::size_t at = below(bytes.size());
    const std::size_t length = std::min(bytes.size() - at, 1 + below(16));
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length,
                    below(2) == 0 ? '\0' : '\xFF');
        break;
      case 4:
        bytes.erase(at, length);
        break;
      default:
        bytes.insert(at, bytes.substr(below(bytes.size()), length));
    }
  }
}

/// A file in memory, which costs no disk's time to write again and again.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("fuzzed", MFD_CLOEXEC)) {}
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Replaces the content; returns the path under which it can be opened.
  std::string write(const std::string& content) const {
    if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, content.data(), content.size(),
                                                     0) != static_cast<ssize_t>(content.size())) {
      throw std::runtime_error("cannot write to memory");
    }
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

/// Calls `work` with generators of other seeds, 2,000 times, or, in the soak tests, for as long as
/// PACELINE_FUZZ_SECONDS says. Returns how often.
inline int repeat_fuzzing(const std::function<void(std::mt19937& random)>& work) {
  const char* const text = std::getenv("PACELINE_FUZZ_SECONDS");
  const std::chrono::seconds limit(text == nullptr ? 0 : std::atoi(text));
  const auto start = std::chrono::steady_clock::now();
  int count = 0;
  for (; count < 2000 || std::chrono::steady_clock::now() - start < limit; ++count) {
    std::mt19937 random(static_cast<unsigned>(count));
    work(random);
  }
  return count;
}

}  // namespace paceline::data
