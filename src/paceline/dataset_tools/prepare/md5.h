#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace paceline::dataset_tools {

/// MD5 of bytes that come in pieces: the checksum that data sets are published with, no protection
/// against attackers. Source: RFC 1321.
class Md5 {
 public:
  Md5();
  ~Md5();
  Md5(Md5&&) noexcept;
  Md5& operator=(Md5&&) noexcept;

  void update(std::span<const std::uint8_t> bytes);
  /// Of all bytes so far, as 32 hexadecimal digits; it starts anew after that.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paceline::dataset_tools
