#include "paceline/data/sources/cifar.h"

#define XXH_INLINE_ALL
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/base/huge_pages.h"
#include "paceline/data/formats/archive_reader.h"
#include "paceline/data/formats/interleave.h"
#include "paceline/data/formats/numpy_pickle.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using base::PickleValue;

constexpr int kSide = 32;
constexpr std::int64_t kPlaneBytes = std::int64_t{kSide} * kSide;
constexpr std::int64_t kImageBytes = 3 * kPlaneBytes;

/// One published version of one variant: its file names and how labels are found in them.
struct Version {
  std::string folder;
  std::string archive;
  std::vector<std::string> train_files;
  std::vector<std::string> val_files;
  std::string names_file;
  bool is_binary = false;
  std::int64_t label_bytes = 0;  ///< binary: before each image; the last one counts
  std::string label_key;         ///< Python
  std::string names_key;

  const std::vector<std::string>& files(bool is_training) const {
    return is_training ? train_files : val_files;
  }
};

std::vector<Version> versions_of(CifarVariant variant) {
  if (variant == CifarVariant::k100) {
    return {{"cifar-100-binary",
             "cifar-100-binary.tar.gz",
             {"train.bin"},
             {"test.bin"},
             "fine_label_names.txt",
             true,
             2,
             "",
             ""},
            {"cifar-100-python",
             "cifar-100-python.tar.gz",
             {"train"},
             {"test"},
             "meta",
             false,
             0,
             "fine_labels",
             "fine_label_names"}};
  }
  std::vector<std::string> batches;
  for (int i = 1; i <= 5; ++i) batches.push_back(fmt::format("data_batch_{}", i));
  std::vector<std::string> binary_batches = batches;
  for (std::string& name : binary_batches) name += ".bin";
  return {{"cifar-10-batches-bin",
           "cifar-10-binary.tar.gz",
           binary_batches,
           {"test_batch.bin"},
           "batches.meta.txt",
           true,
           1,
           "",
           ""},
          {"cifar-10-batches-py",
           "cifar-10-python.tar.gz",
           batches,
           {"test_batch"},
           "batches.meta",
           false,
           0,
           "labels",
           "label_names"}};
}

/// A file in memory, read or taken from an archive.
struct LoadedFile {
  std::string name;
  std::shared_ptr<const void> owner;
  std::span<const std::uint8_t> bytes;
};
using LoadedFiles = std::map<std::string, LoadedFile>;

LoadedFiles load_folder(const fs::path& folder, const std::set<std::string>& names) {
  LoadedFiles files;
  const auto storage = local_storage();
  for (const std::string& name : names) {
    if (!is_file(*storage, folder / name)) continue;
    try {
      const auto text = std::make_shared<const std::string>(base::read_file(folder / name));
      files[name] = {(folder / name).string(),
                     text,
                     {reinterpret_cast<const std::uint8_t*>(text->data()), text->size()}};
    } catch (const base::FileError& failure) {
      throw base::DataError(failure.what());
    }
  }
  return files;
}

LoadedFiles load_archive(const fs::path& archive, const std::set<std::string>& names) {
  LoadedFiles files;
  for (auto& [name, bytes] : read_archive_members(archive, names)) {
    const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
    files[name] = {archive.string() + ":" + name, owner, *owner};
  }
  return files;
}

/// The files of a split, if `place` (a folder or an archive) holds this version.
std::optional<LoadedFiles> load_version(const fs::path& place, const Version& version,
                                        bool is_training) {
  const std::optional<FileFacts> facts = local_storage()->facts(place.string());
  const auto& wanted = version.files(is_training);
  std::set<std::string> names(wanted.begin(), wanted.end());
  names.insert(version.names_file);
  LoadedFiles files;
  if (facts) files = facts->is_folder ? load_folder(place, names) : load_archive(place, names);
  if (!files.contains(wanted.front())) return std::nullopt;
  for (const std::string& name : wanted) {
    if (!files.contains(name)) {
      throw base::DataError(
          fmt::format("{}: holds {} but not {}; extract or fetch the archive again", place.string(),
                      wanted.front(), name));
    }
  }
  return files;
}

/// The images of one file: planes of red, green and blue, row by row.
struct Part {
  std::string name;
  std::shared_ptr<const void> owner;  ///< of the memory below
  const std::uint8_t* pixels = nullptr;
  std::int64_t stride = 0;  ///< bytes from image to image
  std::int64_t count = 0;
};

/// What the data set is made of; filled file by file.
struct Content {
  std::vector<Part> parts;
  std::vector<std::uint8_t> labels;
};

/// The images of all parts as RGB triples, in pages so large that the way from an image to a far
/// one costs the processor no look-up in tables.
std::shared_ptr<const std::uint8_t> gather_pixels(const Content& content) {
  const std::shared_ptr<std::byte> memory =
      base::allocate_huge_pages(content.labels.size() * static_cast<std::size_t>(kImageBytes));
  const std::shared_ptr<std::uint8_t> pixels(memory, reinterpret_cast<std::uint8_t*>(memory.get()));
  std::uint8_t* target = pixels.get();
  for (const Part& part : content.parts) {
    for (std::int64_t i = 0; i < part.count; ++i, target += kImageBytes)
      interleave_planes(part.pixels + i * part.stride, kPlaneBytes, kPlaneBytes, target);
  }
  return pixels;
}

void add_label(Content& content, const Part& part, std::int64_t record, std::int64_t label,
               std::int64_t num_classes) {
  if (label < 0 || label >= num_classes) {
    throw base::DataError(fmt::format(
        "{}: record {}: label {} is out of range, expected 0 to {}; is it another data set's file?",
        part.name, record, label, num_classes - 1));
  }
  content.labels.push_back(static_cast<std::uint8_t>(label));
}

void add_binary(Content& content, const LoadedFile& file, const Version& version,
                std::int64_t num_classes) {
  const std::int64_t record = version.label_bytes + kImageBytes;
  const auto size = static_cast<std::int64_t>(file.bytes.size());
  if (size == 0 || size % record != 0) {
    throw base::DataError(fmt::format(
        "{}: {} bytes are not a whole number of records of {} bytes; extract or fetch it again",
        file.name, size, record));
  }
  Part part{file.name, file.owner, file.bytes.data() + version.label_bytes, record, size / record};
  for (std::int64_t i = 0; i < part.count; ++i) {
    add_label(content, part, i, part.pixels[i * record - 1], num_classes);
  }
  content.parts.push_back(std::move(part));
}

/// The value of `key` in a pickled dict, or a DataError.
const PickleValue& entry(const PickleValue& dict, const std::string& key, const std::string& name) {
  const PickleValue* const found = dict.find(key);
  if (found == nullptr)
    throw base::DataError(fmt::format("{}: the pickle has no key '{}'", name, key));
  return *found;
}

void add_python(Content& content, const LoadedFile& file, const Version& version,
                std::int64_t num_classes) {
  const auto batch = read_numpy_pickle(file.bytes, file.name);
  const PickleValue& labels = entry(*batch, version.label_key, file.name);
  const PickledArray data = pickled_array(entry(*batch, "data", file.name), file.name);
  const auto count = static_cast<std::int64_t>(labels.items.size());
  if (data.dtype != "u1" || data.shape != std::vector<std::int64_t>{count, kImageBytes}) {
    throw base::DataError(
        fmt::format("{}: 'data' is not a uint8 array of shape ({}, {}), one row per label",
                    file.name, count, kImageBytes));
  }
  // The pixels are among the file's bytes, which outlive the part, or among the pickle's texts.
  Part part{file.name, batch, reinterpret_cast<const std::uint8_t*>(data.bytes.data()), kImageBytes,
            count};
  for (std::int64_t i = 0; i < count; ++i) {
    const PickleValue& label = *labels.items[static_cast<std::size_t>(i)];
    add_label(content, part, i, label.kind == PickleValue::Kind::kInt ? label.integer : -1,
              num_classes);
  }
  content.parts.push_back(std::move(part));
}

/// From the names file, or the numbers if that is missing.
std::vector<std::string> read_class_names(const LoadedFiles& files, const Version& version,
                                          std::int64_t num_classes) {
  std::vector<std::string> names;
  const auto found = files.find(version.names_file);
  if (found != files.end() && version.is_binary) {
    const auto bytes = found->second.bytes;
    std::istringstream text(std::string(bytes.begin(), bytes.end()));
    for (std::string line; std::getline(text, line);) {
      if (!line.empty()) names.push_back(line);
    }
  } else if (found != files.end()) {
    const auto meta = read_numpy_pickle(found->second.bytes, found->second.name);
    for (const PickleValue* name : entry(*meta, version.names_key, found->second.name).items)
      names.emplace_back(name->text);
  } else {
    for (std::int64_t i = 0; i < num_classes; ++i) names.push_back(std::to_string(i));
  }
  if (static_cast<std::int64_t>(names.size()) != num_classes) {
    throw base::DataError(fmt::format("{}: holds {} class names, expected {}", found->second.name,
                                      names.size(), num_classes));
  }
  return names;
}

[[noreturn]] void throw_not_found(const fs::path& path, const std::vector<Version>& versions) {
  std::string expected;
  for (const Version& version : versions) {
    expected += fmt::format("\n  {}/ or {}", version.folder, version.archive);
  }
  throw base::DataError(
      fmt::format("{}: no CIFAR data here; expected one of{}\nfetch an archive from "
                  "https://www.cs.toronto.edu/~kriz/cifar.html and set data.path to its folder",
                  path.string(), expected));
}

}  // namespace

std::vector<std::string> cifar_files(CifarVariant variant) {
  std::vector<std::string> files;
  for (const Version& version : versions_of(variant)) {
    files.push_back(version.archive);
    std::vector<std::string> names = version.train_files;
    names.insert(names.end(), version.val_files.begin(), version.val_files.end());
    names.push_back(version.names_file);
    for (const std::string& name : names) {
      files.push_back(name);
      files.push_back((fs::path(version.folder) / name).string());
    }
  }
  return files;
}

Cifar::Cifar(CifarVariant variant, const fs::path& path, bool is_training) {
  const std::int64_t num_classes = variant == CifarVariant::k10 ? 10 : 100;
  const std::vector<Version> versions = versions_of(variant);
  // Extracted files before archives, which have to be decompressed on every start.
  std::vector<std::pair<fs::path, const Version*>> places;
  places.reserve(3 * versions.size());
  for (const Version& version : versions) places.emplace_back(path, &version);
  for (const Version& version : versions) places.emplace_back(path / version.folder, &version);
  for (const Version& version : versions) places.emplace_back(path / version.archive, &version);
  for (const auto& [place, version] : places) {
    const std::optional<LoadedFiles> files = load_version(place, *version, is_training);
    if (!files) continue;
    Content content;
    for (const std::string& name : version->files(is_training)) {
      const auto add = version->is_binary ? add_binary : add_python;
      add(content, files->at(name), *version, num_classes);
    }
    pixels_ = gather_pixels(content);
    for (const Part& part : content.parts) files_.push_back({part.name, part.count});
    labels_ = std::move(content.labels);
    class_names_ = read_class_names(*files, *version, num_classes);
    return;
  }
  throw_not_found(path, versions);
}

std::span<const std::uint8_t> Cifar::image(std::int64_t index) const {
  return {pixels_.get() + index * kImageBytes, static_cast<std::size_t>(kImageBytes)};
}

void Cifar::get(std::int64_t index, StoredSample& sample) const {
  const auto pixels = image(index);
  sample.bytes.assign(pixels.begin(), pixels.end());
  sample.width = kSide;
  sample.height = kSide;
  sample.label = label(index);
}

std::string Cifar::describe(std::int64_t index) const {
  auto file = files_.begin();
  for (; index >= file->count; ++file) index -= file->count;
  return fmt::format("{}: record {}", file->name, index);
}

std::string Cifar::fingerprint() const {
  base::Xxh3Stream hash;
  hash.update({reinterpret_cast<const char*>(labels_.data()), labels_.size()});
  hash.update({reinterpret_cast<const char*>(pixels_.get()),
               labels_.size() * static_cast<std::size_t>(kImageBytes)});
  return fmt::format("cifar{}:{}:{:016x}", num_classes(), size(), hash.digest());
}

std::unique_ptr<Dataset> open(const Cifar10Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path place =
      local_place_of(config.path, "cifar10", storage, cifar_files(CifarVariant::k10));
  return std::make_unique<Cifar>(CifarVariant::k10, place, split == Split::kTrain);
}

std::unique_ptr<DatasetPlan> make(const Cifar10Config& config) {
  return plan_of(config, small_image_transforms(32));
}

std::unique_ptr<Dataset> open(const Cifar100Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path place =
      local_place_of(config.path, "cifar100", storage, cifar_files(CifarVariant::k100));
  return std::make_unique<Cifar>(CifarVariant::k100, place, split == Split::kTrain);
}

std::unique_ptr<DatasetPlan> make(const Cifar100Config& config) {
  return plan_of(config, small_image_transforms(32));
}

}  // namespace paceline::data
