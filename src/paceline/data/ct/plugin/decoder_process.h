#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace paceline::data {

/// Bytes that a process and its child share.
class SharedBytes {
 public:
  /// Throws DataError, which `name` begins, if there is no memory for them.
  SharedBytes(std::size_t size, const std::string& name);
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  std::span<char> bytes() const { return {begin_, size_}; }

 private:
  char* begin_ = nullptr;
  std::size_t size_ = 0;
};

/// Calls `work(0)`, `work(1)` ... `work(count - 1)` in a child process, for code that may end or
/// hang the process that it runs in; what it makes it has to leave in SharedBytes. What it prints
/// is dropped. Returns how many calls came back with true; the next one failed, or took more than
/// `limit_s` seconds of computing for all together. Throws DataError, which `name` begins, if there
/// cannot be a child.
std::size_t call_in_child(std::size_t count, unsigned limit_s, const std::string& name,
                          const std::function<bool(std::size_t)>& work);

}  // namespace paceline::data
