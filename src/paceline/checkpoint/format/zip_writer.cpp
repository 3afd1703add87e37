#include "paceline/checkpoint/format/zip_writer.h"

#include "paceline/checkpoint/format/zip_format.h"

#include <array>
#include <cstring>

namespace paceline::checkpoint {
namespace {

constexpr std::uint16_t kVersion64 = 45;
constexpr std::uint16_t kUtf8 = 1u << 11;
constexpr std::uint16_t kPadding = 0x4246;  // as PyTorch calls it
constexpr std::uint16_t kJanuary1980 = 0x21;

template <class T>
void put(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// What the local and the central header share, from the version to the sizes.
void put_facts(std::string& bytes, std::uint32_t checksum) {
  put(bytes, kVersion64);
  put(bytes, kUtf8);
  put(bytes, std::uint16_t{0});  // stored
  put(bytes, std::uint16_t{0});  // midnight
  put(bytes, kJanuary1980);
  put(bytes, checksum);
  put(bytes, kZipSeeExtra);
  put(bytes, kZipSeeExtra);
}

/// Of the slicing-by-8 algorithm (Kounavis and Berry, 2008): row k is for a byte with k behind it.
constexpr std::array<std::array<std::uint32_t, 256>, 8> make_crc_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1u) ? 0xedb88320u : 0u);
    tables[0][byte] = value;
  }
  for (std::size_t row = 1; row < 8; ++row) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[row - 1][byte];
      tables[row][byte] = (before >> 8) ^ tables[0][before & 0xffu];
    }
  }
  return tables;
}

constexpr auto kCrcTables = make_crc_tables();

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t value = 0xffffffff;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), 8);
    eight ^= value;
    value = 0;
    for (std::size_t i = 0; i < 8; ++i) value ^= kCrcTables[7 - i][(eight >> (8 * i)) & 0xffu];
  }
  for (const char byte : bytes)
    value = (value >> 8) ^ kCrcTables[0][(value ^ static_cast<unsigned char>(byte)) & 0xffu];
  return ~value;
}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::string_view content) {
  constexpr std::uint64_t kHeaderBytes = 30 + 20 + 4;  // with both extra fields
  const Entry entry{name, crc32(content), content.size(), position_};
  const std::uint64_t begin = position_ + kHeaderBytes + name.size();
  const std::uint64_t padding = (kAlignment - begin % kAlignment) % kAlignment;
  std::string header;
  put(header, std::uint32_t{kZipLocalHeader});
  put_facts(header, entry.checksum);
  put(header, static_cast<std::uint16_t>(name.size()));
  put(header, static_cast<std::uint16_t>(20 + 4 + padding));
  header += name;
  put(header, kZipExtra64);
  put(header, std::uint16_t{16});
  put(header, entry.size);
  put(header, entry.size);
  put(header, kPadding);
  put(header, static_cast<std::uint16_t>(padding));
  header.append(padding, 'Z');
  write(header);
  write(content);
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const std::uint64_t begin = position_;
  std::string directory;
  for (const Entry& entry : entries_) {
    put(directory, std::uint32_t{kZipCentralHeader});
    put(directory, kVersion64);
    put_facts(directory, entry.checksum);
    put(directory, static_cast<std::uint16_t>(entry.name.size()));
    put(directory, std::uint16_t{28});
    directory.append(10, '\0');  // no comment, the first disk, no attributes
    put(directory, kZipSeeExtra);
    directory += entry.name;
    put(directory, kZipExtra64);
    put(directory, std::uint16_t{24});
    for (const std::uint64_t wide : {entry.size, entry.size, entry.header}) put(directory, wide);
  }
  const std::uint64_t size = directory.size();
  put(directory, std::uint32_t{kZipEnd64});
  put(directory, std::uint64_t{44});  // of what follows in this record
  put(directory, kVersion64);
  put(directory, kVersion64);
  put(directory, std::uint64_t{0});  // the first disk, twice
  for (const std::uint64_t wide : {entries_.size(), entries_.size(), size, begin})
    put(directory, wide);
  put(directory, std::uint32_t{kZipEnd64Locator});
  put(directory, std::uint32_t{0});
  put(directory, begin + size);
  put(directory, std::uint32_t{1});
  put(directory, std::uint32_t{kZipEnd});
  put(directory, std::uint32_t{0});
  put(directory, std::uint16_t{0xffff});
  put(directory, std::uint16_t{0xffff});
  put(directory, kZipSeeExtra);
  put(directory, kZipSeeExtra);
  put(directory, std::uint16_t{0});
  write(directory);
}

}  // namespace paceline::checkpoint
