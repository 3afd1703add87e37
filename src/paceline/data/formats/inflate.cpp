#include "paceline/data/formats/inflate.h"

#include "paceline/base/error.h"

#include <limits>

#include <zlib.h>

namespace paceline::data {
namespace {

constexpr std::size_t kStepBytes = 1 << 20;
constexpr int kZlibOrGzip = 15 + 32;  // the largest window, and the header tells which

/// zlib's state, freed at the end.
class Inflater {
 public:
  Inflater() { PACELINE_CHECK(inflateInit2(&stream_, kZlibOrGzip) == Z_OK, "zlib cannot start"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

std::vector<std::uint8_t> inflate_bytes(std::span<const std::uint8_t> compressed,
                                        std::size_t max_bytes, const std::string& name) {
  PACELINE_CHECK(compressed.size() <= std::numeric_limits<uInt>::max(), "{}: more than 4 GiB",
                 name);
  Inflater inflater;
  z_stream& stream = inflater.stream();
  stream.next_in = const_cast<Bytef*>(compressed.data());  // zlib's interface knows no const
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::vector<std::uint8_t> bytes;
  while (true) {
    const std::size_t done = bytes.size();
    bytes.resize(done + kStepBytes);
    stream.next_out = bytes.data() + done;
    stream.avail_out = kStepBytes;
    const int status = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(done + kStepBytes - stream.avail_out);
    if (bytes.size() > max_bytes) {
      throw base::DataError(fmt::format("{}: holds more than {} bytes", name, max_bytes));
    }
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) return bytes;
      inflateReset(&stream);  // gzip files may be strung together
    } else if (status != Z_OK || (stream.avail_in == 0 && stream.avail_out != 0)) {
      throw base::DataError(fmt::format("{}: the compressed data is damaged or cut short: {}", name,
                                        stream.msg != nullptr ? stream.msg : "it ends early"));
    }
  }
}

}  // namespace paceline::data
