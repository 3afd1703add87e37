#include "paceline/base/pickle/pickle_stream.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace paceline::base {

void PickleStream::fail(const std::string& what) const {
  throw PickleError(fmt::format("not a readable pickle: {} (at byte {})", what, at_));
}

std::string_view PickleStream::take_bytes(std::uint64_t count) {
  if (count > bytes_.size() - at_) fail("it ends too early");
  const auto* const start = reinterpret_cast<const char*>(bytes_.data() + at_);
  at_ += static_cast<std::size_t>(count);
  return {start, static_cast<std::size_t>(count)};
}

std::string_view PickleStream::take_line() {
  const auto rest = bytes_.subspan(at_);
  const auto end = std::find(rest.begin(), rest.end(), std::uint8_t{'\n'});
  if (end == rest.end()) fail("a line has no end");
  const std::string_view line = take_bytes(static_cast<std::uint64_t>(end - rest.begin()));
  ++at_;
  return line;
}

double PickleStream::take_real() {
  return std::bit_cast<double>(__builtin_bswap64(take<std::uint64_t>()));
}

}  // namespace paceline::base
