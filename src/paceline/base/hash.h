#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace paceline::base {

/// XXH3, 64 bits: for checksums against accidents, not against attackers.
std::uint64_t xxh3(std::string_view bytes);

/// XXH3, 128 bits, as 32 hexadecimal digits: for names of contents.
std::string xxh3_128_hex(std::string_view bytes);

/// XXH3, 64 bits, of bytes that come in pieces.
class Xxh3Stream {
 public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(Xxh3Stream&&) noexcept;
  Xxh3Stream& operator=(Xxh3Stream&&) noexcept;

  void update(std::string_view bytes);
  /// Of all bytes so far; more may follow.
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paceline::base
