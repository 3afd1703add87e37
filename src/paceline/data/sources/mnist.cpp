#include "paceline/data/sources/mnist.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/formats/inflate.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/sources/raw_dataset.h"
#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIdxBytes = std::size_t{8} << 30;

/// An idx file of unsigned bytes, in memory.
struct IdxFile {
  std::string name;
  std::shared_ptr<const void> owner;
  std::vector<std::uint32_t> shape;
  std::span<const std::uint8_t> values;
};

std::uint32_t read_big_endian(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

/// The file's bytes, read or decompressed; the owner keeps them.
std::pair<std::shared_ptr<const void>, std::span<const std::uint8_t>> load_bytes(
    const fs::path& path) {
  try {
    const auto text = std::make_shared<const std::string>(base::read_file(path));
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(text->data()), text->size());
    if (path.extension() != ".gz") return {text, bytes};
    const auto inflated = std::make_shared<const std::vector<std::uint8_t>>(
        inflate_bytes(bytes, kMaxIdxBytes, path.string()));
    return {inflated, *inflated};
  } catch (const base::FileError& error) {
    throw base::DataError(error.what());
  }
}

/// The header: two zeros, the type (8: unsigned bytes), the number of dimensions, then these, each
/// a big-endian number of 32 bits.
IdxFile load_idx(const fs::path& path, std::size_t num_dimensions) {
  IdxFile file{path.string(), nullptr, {}, {}};
  std::span<const std::uint8_t> bytes;
  std::tie(file.owner, bytes) = load_bytes(path);
  const std::size_t header_bytes = 4 + 4 * num_dimensions;
  if (bytes.size() < header_bytes || bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 ||
      bytes[3] != num_dimensions) {
    throw base::DataError(fmt::format("{}: not an idx{} file of unsigned bytes; fetch it again",
                                      file.name, num_dimensions));
  }
  std::uint64_t count = 1;
  bool is_sound = true;
  for (std::size_t i = 0; i < num_dimensions; ++i) {
    file.shape.push_back(read_big_endian(bytes, 4 + 4 * i));
    is_sound = is_sound && !__builtin_mul_overflow(count, file.shape.back(), &count);
  }
  file.values = bytes.subspan(header_bytes);
  if (!is_sound || file.values.size() != count) {
    throw base::DataError(fmt::format("{}: holds {} values, but its header says {}; fetch it again",
                                      file.name, file.values.size(), count));
  }
  return file;
}

/// Where a file may lie, best first.
std::vector<fs::path> idx_places(const std::string& part, const std::string& kind) {
  std::vector<fs::path> places;
  for (const char* place : {"", "raw", "MNIST/raw", "FashionMNIST/raw"}) {
    for (const char* gap : {"-", "."}) {
      for (const char* ending : {"", ".gz"})
        places.push_back(fs::path(place) / fmt::format("{}{}{}-ubyte{}", part, gap, kind, ending));
    }
  }
  return places;
}

std::optional<fs::path> find_idx(const fs::path& folder, const std::string& part,
                                 const std::string& kind) {
  const auto storage = local_storage();
  for (const fs::path& place : idx_places(part, kind)) {
    if (is_file(*storage, folder / place)) return folder / place;
  }
  return std::nullopt;
}

int count_classes(std::span<const std::uint8_t> labels) {
  return labels.empty() ? 0 : 1 + *std::max_element(labels.begin(), labels.end());
}

}  // namespace

std::vector<std::string> mnist_files() {
  std::vector<std::string> files;
  for (const char* split : {"train", "t10k"}) {
    for (const auto& [part, kind] : {std::pair("-images", "idx3"), std::pair("-labels", "idx1")}) {
      for (const fs::path& place : idx_places(std::string(split) + part, kind))
        files.push_back(place.string());
    }
  }
  return files;
}

std::unique_ptr<Dataset> open_mnist(const fs::path& folder, bool is_training) {
  const std::string split = is_training ? "train" : "t10k";
  const auto images_path = find_idx(folder, split + "-images", "idx3");
  const auto labels_path = find_idx(folder, split + "-labels", "idx1");
  if (!images_path || !labels_path) {
    throw base::DataError(fmt::format(
        "{}: no {}-{}-ubyte, plain or .gz, here or in raw/; set data.path to the folder of the "
        "four files",
        folder.string(), split, images_path ? "labels-idx1" : "images-idx3"));
  }
  const IdxFile images = load_idx(*images_path, 3);
  const IdxFile labels = load_idx(*labels_path, 1);
  int num_classes = count_classes(labels.values);
  const std::string other = is_training ? "t10k" : "train";
  if (const auto path = find_idx(folder, other + "-labels", "idx1")) {
    num_classes = std::max(num_classes, count_classes(load_idx(*path, 1).values));
  }
  RawImages raw{images.name,     images.owner,    images.values.data(), images.shape[0],
                images.shape[1], images.shape[2], RawLayout::kGray};
  return std::make_unique<RawDataset>(
      std::move(raw), std::vector<std::int64_t>(labels.values.begin(), labels.values.end()),
      num_classes, labels.name);
}

std::unique_ptr<Dataset> open(const MnistConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  return open_mnist(local_place_of(config.path, "mnist", storage, mnist_files()),
                    split == Split::kTrain);
}

std::unique_ptr<DatasetPlan> make(const MnistConfig& config) {
  return plan_of(config, digit_transforms());
}

}  // namespace paceline::data
