#include "paceline/data/formats/tar_reader.h"

#include "paceline/base/error.h"
#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace paceline::data {

/// A header block, as it lies in the file.
struct TarReader::Header {
  char name[100];
  char mode[8];
  char owner[16];  // user and group
  char size[12];
  char changed[12];
  char checksum[8];
  char type;
  char link_name[100];
  char magic[8];  // with the version
  char owner_names[64];
  char device[16];
  char prefix[155];
  char unused[12];
};

/// What extension headers say about the member behind them.
struct TarReader::Extension {
  std::optional<std::string> name;
  std::optional<std::uint64_t> size;
};

namespace {

// Names and attributes; a damaged size must not make us read a whole archive into memory.
constexpr std::uint64_t kMaxExtensionBytes = 1 << 20;

constexpr std::uint64_t kBufferBytes = 8 * TarReader::kBlockBytes;
constexpr std::uint64_t kRemoteBufferBytes = 1 << 20;

template <std::size_t N>
std::string_view field_text(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

constexpr char kSparse[] =
    "a sparse file, which cannot be read in place; pack the archive without --sparse";

bool is_regular(char type) { return type == '0' || type == '\0' || type == '7'; }

/// Names and attributes of the next member, or of all (g), of which none matters here.
bool is_extension(char type) { return type == 'x' || type == 'g' || type == 'L' || type == 'K'; }

/// Links, devices, folders and pipes; their size field may be set, but nothing follows.
bool has_no_body(char type) { return type >= '1' && type <= '6'; }

template <class Block>
bool is_zero(const Block& block) {
  const auto* const bytes = reinterpret_cast<const char*>(&block);
  return std::all_of(bytes, bytes + sizeof block, [](char byte) { return byte == '\0'; });
}

}  // namespace

TarReader::TarReader(const InputFile& file, std::uint64_t offset, std::uint64_t size)
    : file_(file), is_remote_(is_remote(file.path())), position_(offset), end_(offset + size) {
  static_assert(sizeof(Header) == kBlockBytes);
  PACELINE_CHECK(size <= file.size() && offset <= file.size() - size, "bytes {} + {} are not in {}",
                 offset, size, file.path());
}

void TarReader::fail(const std::string& problem) const {
  throw base::DataError(
      fmt::format("{}: damaged tar, header at byte {}: {}; copy or fetch the file again",
                  file_.path(), position_, problem));
}

const TarReader::Header& TarReader::read_header() {
  if (end_ - position_ < kBlockBytes) {
    fail("the archive ends here without its end mark, it may be cut short");
  }
  fill_buffer(position_, kBlockBytes);
  return *reinterpret_cast<const Header*>(buffer_.data() + (position_ - buffer_offset_));
}

/// Makes `size` bytes from `offset` on lie in the buffer, and some behind them.
void TarReader::fill_buffer(std::uint64_t offset, std::uint64_t size) {
  if (offset >= buffer_offset_ && offset + size <= buffer_offset_ + buffer_size_) return;
  // At 50 ms a round trip costs as much as some MB.
  const bool reads_through = is_remote_ && last_hop_ < kRemoteBufferBytes / 2;
  const std::uint64_t wanted =
      std::max<std::uint64_t>(size, reads_through ? kRemoteBufferBytes : kBufferBytes);
  buffer_offset_ = offset;
  buffer_size_ = 0;  // if the read throws, nothing is there
  buffer_.resize(std::min(wanted, end_ - offset));
  file_.read_once(offset, buffer_);
  buffer_size_ = buffer_.size();
}

void TarReader::verify(const Header& header) const {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  if (bytes[0] == 0x1F && bytes[1] == 0x8B) fail("it is compressed by gzip; run gunzip on it");
  // The sum takes its own field for blanks. Some old programs summed signed characters.
  std::int64_t sum = std::int64_t{8} * ' ';
  std::int64_t signed_sum = sum;
  for (std::size_t i = 0; i < kBlockBytes; ++i) {
    if (i >= offsetof(Header, checksum) && i < offsetof(Header, type)) continue;
    sum += bytes[i];
    signed_sum += static_cast<signed char>(bytes[i]);
  }
  const auto stored =
      static_cast<std::int64_t>(parse_number(header.checksum, sizeof header.checksum));
  if (stored != sum && stored != signed_sum) {
    fail(fmt::format("its checksum is {}, expected {}; is this a tar file?", stored, sum));
  }
}

std::uint64_t TarReader::parse_number(const char* field, std::size_t width) const {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {  // GNU's binary numbers
    if (static_cast<unsigned char>(field[0]) != 0x80) fail("a number is negative or too large");
    for (std::size_t i = 1; i < width; ++i) {
      if (value >> 54 != 0) fail("a number is too large");
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  std::size_t i = 0;
  while (i < width && field[i] == ' ') ++i;
  for (; i < width && field[i] != ' ' && field[i] != '\0'; ++i) {
    if (field[i] < '0' || field[i] > '7') fail("a number is not octal");
    value = value << 3 | static_cast<std::uint64_t>(field[i] - '0');
  }
  return value;
}

std::uint64_t TarReader::body_size(const Header& header, const Extension& extension) const {
  if (has_no_body(header.type)) return 0;
  const std::uint64_t size =
      extension.size ? *extension.size : parse_number(header.size, sizeof header.size);
  const std::uint64_t room = end_ - position_ - kBlockBytes;
  if (size > room) {
    fail(fmt::format("{} bytes should follow, but only {} do, it may be cut short", size, room));
  }
  return size;
}

std::string TarReader::read_extension_text(std::uint64_t size) {
  if (size > kMaxExtensionBytes) fail(fmt::format("an extension of {} bytes", size));
  return read({{}, position_ + kBlockBytes, size});
}

std::string TarReader::read(const TarMember& member) {
  fill_buffer(member.offset, member.size);
  const auto* const begin =
      reinterpret_cast<const char*>(buffer_.data() + (member.offset - buffer_offset_));
  return {begin, static_cast<std::size_t>(member.size)};
}

void TarReader::skip(std::uint64_t body) {
  const std::uint64_t blocks = 1 + (body + kBlockBytes - 1) / kBlockBytes;
  if (blocks * kBlockBytes > end_ - position_) {
    fail(fmt::format("the archive ends behind its {} bytes, it may be cut short", body));
  }
  last_hop_ = blocks * kBlockBytes;
  position_ += last_hop_;
}

/// Records are "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
void TarReader::parse_pax(const std::string& records, Extension& extension) const {
  std::size_t start = 0;
  while (start < records.size() && records[start] != '\0') {
    std::size_t length = 0;
    const char* const first = records.data() + start;
    const auto [behind, error] = std::from_chars(first, records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(behind - first);
    if (error != std::errc() || length > records.size() - start || length < digits + 2 ||
        *behind != ' ' || first[length - 1] != '\n') {
      fail("its pax records are malformed");
    }
    parse_pax_record(records.substr(start + digits + 1, length - digits - 2), extension);
    start += length;
  }
}

void TarReader::parse_pax_record(const std::string& record, Extension& extension) const {
  const std::size_t equals = record.find('=');
  if (equals == std::string::npos) fail("a pax record without '='");
  const std::string_view key = std::string_view(record).substr(0, equals);
  const std::string_view value = std::string_view(record).substr(equals + 1);
  if (key == "path") {
    extension.name = std::string(value);
  } else if (key == "size") {
    std::uint64_t size = 0;
    const auto [behind, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || behind != value.data() + value.size()) {
      fail("the size in its pax records is no number");
    }
    extension.size = size;
  } else if (key.starts_with("GNU.sparse.")) {
    fail(kSparse);
  }
}

/// Adds what the body of an extension header says about the member behind it.
void TarReader::read_extension(const Header& header, Extension& extension) {
  const std::uint64_t size = body_size(header, {});
  if (header.type == 'x') parse_pax(read_extension_text(size), extension);
  if (header.type == 'L') extension.name = read_extension_text(size).c_str();
  skip(size);
}

std::string TarReader::name_of(const Header& header, const Extension& extension) {
  std::string name(field_text(header.name));
  const bool is_ustar =
      std::memcmp(header.magic, "ustar", 6) == 0;  // GNU has a blank in sixth place
  if (is_ustar && header.prefix[0] != '\0') {
    name = fmt::format("{}/{}", field_text(header.prefix), name);
  }
  if (extension.name) name = *extension.name;
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

bool TarReader::next(TarMember& member) {
  Extension extension;
  while (true) {
    const Header header = read_header();
    if (is_zero(header)) {
      if (extension.name || extension.size) fail("an extension without a member behind it");
      return false;
    }
    verify(header);
    if (is_extension(header.type)) {
      read_extension(header, extension);
      continue;
    }
    if (header.type == 'S') fail(kSparse);
    const std::uint64_t size = body_size(header, extension);
    std::string name = name_of(header, extension);
    // V7 marks folders by the slash alone.
    const bool is_file = is_regular(header.type) && !name.ends_with('/');
    if (is_file && name.empty()) fail("a member without a name");
    const std::uint64_t offset = position_ + kBlockBytes;
    skip(size);
    if (is_file) {
      member = {std::move(name), offset, size};
      return true;
    }
    extension = {};
  }
}

}  // namespace paceline::data
