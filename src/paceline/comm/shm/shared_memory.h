#pragma once

#include <cstddef>
#include <string>

namespace paceline::comm {

/// Memory that processes of one host share, and who of them still lives. Torch-free.
///
/// Owns a mapping and an open file description. A rank is present from mark_present() until this
/// object, or its process, is gone, whatever ended it: presence is a lock that the kernel drops.
class SharedMemory {
 public:
  /// Makes `bytes` of zeros under a new random name. The pages are there at once, so a full
  /// /dev/shm is an error here and no SIGBUS later. Throws CommError.
  static SharedMemory create(std::size_t bytes);
  /// Maps what another process made. Throws CommError when the name or the size is not there.
  static SharedMemory open(const std::string& name, std::size_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  const std::string& name() const { return name_; }
  std::byte* data() const { return data_; }

  /// Takes the name away; the memory stays for those that have it. The maker's end does so too.
  void unlink() noexcept;

  void mark_present(int rank) const;
  /// Whether another object holds the rank's mark. An own mark does not count.
  bool is_present(int rank) const;

 private:
  SharedMemory(std::string name, int descriptor, bool is_maker);
  void map(std::size_t bytes);

  std::string name_;
  int descriptor_ = -1;
  bool is_linked_ = false;  ///< made here, and the name is still there
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace paceline::comm
