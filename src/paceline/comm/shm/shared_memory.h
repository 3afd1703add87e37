#pragma once

#include <cstddef>
#include <string>

namespace paceline::comm {

/// Memory that processes of one host share, and who of them still lives. Torch-free.
///
/// Owns a mapping and an open file description. The memory has no name in any file system (memfd),
/// so it ends with the last process that has it, whatever ended that. A rank is present from
/// mark_present() until this object, or its process, is gone: presence is a lock that the kernel
/// drops.
class SharedMemory {
 public:
  /// Makes `bytes` of zeros. The pages are there at once, so too little memory is an error here and
  /// no SIGBUS later, and nobody can make it shorter. Throws CommError.
  static SharedMemory create(std::size_t bytes);
  /// Maps what a living process of the same user and PID namespace made and has `name` for. Throws
  /// CommError when that is not there, is something else or has another size.
  static SharedMemory open(const std::string& name, std::size_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  const std::string& name() const { return name_; }
  std::byte* data() const { return data_; }

  void mark_present(int rank) const;
  /// Whether another object holds the rank's mark. An own mark does not count.
  bool is_present(int rank) const;

 private:
  SharedMemory(std::string name, int descriptor);
  void map(std::size_t bytes);

  std::string name_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace paceline::comm
