#include "paceline/data/sources/imagenet/ilsvrc2012.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/formats/tar_reader.h"
#include "paceline/data/index/image_listing.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/index/listing_progress.h"
#include "paceline/data/index/range_index_builder.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/imagenet/validation_labels.h"
#include "paceline/data/sources/range_dataset.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

using StoragePointer = std::shared_ptr<const Storage>;

constexpr char kTrainTar[] = "ILSVRC2012_img_train.tar";
constexpr char kValTar[] = "ILSVRC2012_img_val.tar";

/// n and eight digits.
bool is_wnid(std::string_view name) {
  return name.size() == 9 && name[0] == 'n' &&
         std::all_of(name.begin() + 1, name.end(),
                     [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

bool is_class_tar(const fs::path& name) {
  return name.extension() == ".tar" && is_wnid(name.stem().string());
}

/// What a folder holds, told by the first entry that tells.
enum class FolderKind { kNone, kClassTars, kClassFolders, kImages };

FolderKind look_into(const fs::path& folder, const Storage& storage) {
  if (!is_folder(storage, folder)) return FolderKind::kNone;
  for (const FileEntry& entry : storage.list(folder.string())) {
    if (is_class_tar(entry.name)) return FolderKind::kClassTars;
    if (is_wnid(entry.name) && entry.facts.is_folder) return FolderKind::kClassFolders;
    if (is_image_name(entry.name)) return FolderKind::kImages;
  }
  return FolderKind::kNone;
}

/// Where one split's images are, relative to the root.
struct ImagePlace {
  enum class Kind { kTar, kClassTars, kClassFolders, kImages };
  Kind kind;
  fs::path path;
};

std::optional<ImagePlace> find_train(const fs::path& root, const Storage& storage) {
  if (is_file(storage, root / kTrainTar)) {
    return ImagePlace{ImagePlace::Kind::kTar, kTrainTar};
  }
  for (const char* folder :
       {"ILSVRC2012_img_train", "train", "ILSVRC/Data/CLS-LOC/train", "Data/CLS-LOC/train", "."}) {
    const FolderKind kind =
        look_into(folder == std::string_view(".") ? root : root / folder, storage);
    if (kind == FolderKind::kClassTars) return ImagePlace{ImagePlace::Kind::kClassTars, folder};
    // Loose folders in the root itself could be anything.
    if (kind == FolderKind::kClassFolders && folder != std::string_view(".")) {
      return ImagePlace{ImagePlace::Kind::kClassFolders, folder};
    }
  }
  return std::nullopt;
}

/// Places that need labels come only into question `with_labels`.
std::optional<ImagePlace> find_val(const fs::path& root, bool with_labels, const Storage& storage) {
  if (with_labels && is_file(storage, root / kValTar)) {
    return ImagePlace{ImagePlace::Kind::kTar, kValTar};
  }
  for (const char* folder :
       {"ILSVRC2012_img_val", "val", "ILSVRC/Data/CLS-LOC/val", "Data/CLS-LOC/val"}) {
    const FolderKind kind = look_into(root / folder, storage);
    if (kind == FolderKind::kClassFolders) {
      return ImagePlace{ImagePlace::Kind::kClassFolders, folder};
    }
    if (with_labels && kind == FolderKind::kImages) {
      return ImagePlace{ImagePlace::Kind::kImages, folder};
    }
  }
  return std::nullopt;
}

/// A class's tar, in a file of its own or in a larger tar.
struct ClassTar {
  std::string wnid;
  fs::path file;  ///< relative to the root
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

std::vector<ClassTar> list_class_tars(const fs::path& root, const ImagePlace& place,
                                      const Storage& storage) {
  std::vector<ClassTar> tars;
  if (place.kind == ImagePlace::Kind::kTar) {
    const auto file = storage.open((root / place.path).string());
    TarReader reader(*file);
    for (TarMember member; reader.next(member);) {
      const fs::path name = fs::path(member.name).filename();
      if (!is_class_tar(name)) continue;
      tars.push_back({name.stem().string(), place.path, member.offset, member.size});
    }
  } else {
    // No place is below ".", which is no folder of a bucket.
    const fs::path folder = place.path == "." ? fs::path() : place.path;
    for (const FileEntry& entry : storage.list((folder.empty() ? root : root / folder).string())) {
      const fs::path name = entry.name;
      if (!is_class_tar(name)) continue;
      tars.push_back({name.stem().string(), folder / name, 0, entry.facts.size});
    }
  }
  if (tars.empty()) {
    throw base::DataError(fmt::format("{}: holds no tars of classes, as n01440764.tar",
                                      (root / place.path).string()));
  }
  std::sort(tars.begin(), tars.end(),
            [](const ClassTar& a, const ClassTar& b) { return a.wnid < b.wnid; });
  return tars;
}

std::vector<std::string> wnids_of(const std::vector<ClassTar>& tars) {
  std::vector<std::string> wnids;
  wnids.reserve(tars.size());
  for (const ClassTar& tar : tars) wnids.push_back(tar.wnid);
  return wnids;
}

std::vector<std::string> train_classes(const fs::path& root, const ImagePlace& train,
                                       const StoragePointer& storage) {
  return train.kind == ImagePlace::Kind::kClassFolders
             ? list_classes(root / train.path, storage)
             : wnids_of(list_class_tars(root, train, *storage));
}

/// The classes, where listing them is cheap; a tar is watched as an index's source instead.
std::string state_in_key(const fs::path& root, const ImagePlace& train,
                         const StoragePointer& storage) {
  if (train.kind == ImagePlace::Kind::kTar) return {};
  return fmt::format("{}", fmt::join(train_classes(root, train, storage), " "));
}

/// The images in a tar, or in a part of it, under their base names.
std::vector<TarMember> list_images(const InputFile& file, std::uint64_t offset,
                                   std::uint64_t size) {
  std::vector<TarMember> images;
  TarReader reader(file, offset, size);
  for (TarMember member; reader.next(member);) {
    member.name = fs::path(member.name).filename().string();
    if (is_image_name(member.name)) images.push_back(member);
  }
  return images;
}

RangeIndex make_train_index(const fs::path& root, const ImagePlace& place, const std::string& key,
                            const StoragePointer& storage) {
  RangeIndexBuilder builder(root, key, storage);
  const bool is_one_file = place.kind == ImagePlace::Kind::kTar;
  if (is_one_file) builder.add_source(place.path);
  const std::vector<ClassTar> tars = list_class_tars(root, place, *storage);
  std::vector<fs::path> files;
  for (std::size_t i = 0; !is_one_file && i < tars.size(); ++i) files.push_back(tars[i].file);
  builder.add_sources(files);
  std::vector<std::vector<TarMember>> images(tars.size());
  ListingProgress progress((root / place.path).string(), *storage);
  base::parallel_for(
      static_cast<std::int64_t>(tars.size()), storage->num_connections(), [&](std::int64_t i) {
        const auto which = static_cast<std::size_t>(i);
        const auto file = storage->open((root / tars[which].file).string());
        images[which] = list_images(*file, tars[which].offset, tars[which].size);
        std::sort(images[which].begin(), images[which].end(),
                  [](const TarMember& a, const TarMember& b) { return a.name < b.name; });
        progress.add(std::ssize(images[which]));
      });
  for (std::size_t i = 0; i < tars.size(); ++i) {
    if (images[i].empty()) {
      throw base::DataError(fmt::format("{}: the tar of class {} holds no images",
                                        (root / tars[i].file).string(), tars[i].wnid));
    }
    for (const TarMember& image : images[i]) {
      builder.add(static_cast<std::uint32_t>(is_one_file ? 0 : i), image.offset, image.size,
                  static_cast<std::int64_t>(i), image.name);
    }
  }
  return builder.finish(wnids_of(tars));
}

std::unique_ptr<Dataset> open_train(const fs::path& root, const StoragePointer& storage) {
  const std::optional<ImagePlace> place = find_train(root, *storage);
  if (!place) {
    throw base::DataError(
        fmt::format("{}: no ImageNet training data here; expected {}, a folder train/ of tars "
                    "n01440764.tar or of folders n01440764/, or ILSVRC/Data/CLS-LOC/train/; set "
                    "data.path to the folder that holds it",
                    root.string(), kTrainTar));
  }
  if (place->kind == ImagePlace::Kind::kClassFolders) {
    return open_image_folder(root, place->path.string(), place->path.string(), storage);
  }
  const std::string key = fmt::format("ilsvrc2012 train {} {}", place->path.string(),
                                      state_in_key(root, *place, storage));
  return std::make_unique<RangeDataset>(
      load_or_make(
          index_files(root, "ilsvrc2012-train"), *storage,
          [&](const fs::path& file) { return RangeIndex::load(file, root, key, storage); },
          [&] { return make_train_index(root, *place, key, storage); }),
      storage);
}

/// A validation image in its tar or folder.
struct LabelledImage {
  std::int64_t label = 0;
  TarMember member;
};

std::vector<TarMember> list_val_images(const fs::path& root, const ImagePlace& place,
                                       const Storage& storage) {
  if (place.kind == ImagePlace::Kind::kTar) {
    const auto file = storage.open((root / place.path).string());
    return list_images(*file, 0, file->size());
  }
  std::vector<TarMember> images;
  for (const FileEntry& entry : storage.list((root / place.path).string())) {
    if (is_image_name(entry.name)) images.push_back({entry.name, 0, entry.facts.size});
  }
  return images;
}

std::vector<std::string> classes_of(const ValidationLabels& labels, const fs::path& source) {
  std::set<std::string> wnids;
  for (const auto& [number, wnid] : labels) {
    if (!is_wnid(wnid)) {
      throw base::DataError(fmt::format(
          "{}: names classes by number, as '{}', so the training data must be there too to tell "
          "their names",
          source.string(), wnid));
    }
    wnids.insert(wnid);
  }
  return {wnids.begin(), wnids.end()};
}

/// The place of a class in the sorted ids.
std::int64_t label_of(const std::string& written, const std::vector<std::string>& classes,
                      const fs::path& source) {
  const auto found = std::lower_bound(classes.begin(), classes.end(), written);
  if (found != classes.end() && *found == written) return found - classes.begin();
  const bool is_digits = !written.empty() && written.size() < 10 &&
                         written.find_first_not_of("0123456789") == std::string::npos;
  if (is_digits && std::stoul(written) < classes.size()) {
    return static_cast<std::int64_t>(std::stoul(written));
  }
  throw base::DataError(fmt::format("{}: '{}' is none of the {} classes of the training data",
                                    source.string(), written, classes.size()));
}

/// What a validation set that needs labels is made of.
struct ValSources {
  fs::path root;
  ImagePlace images;
  fs::path labels;  ///< as given, relative to the root or absolute
  std::optional<ImagePlace> train;
};

RangeIndex make_val_index(const ValSources& from, const std::string& key,
                          const StoragePointer& storage) {
  RangeIndexBuilder builder(from.root, key, storage);
  const std::uint32_t source = builder.add_source(from.images.path);
  const fs::path labels_path = path_in(from.root, from.labels);
  const bool is_below_root = from.labels.is_relative() && !is_remote(from.labels);
  for (const fs::path& file : validation_label_files(labels_path, *storage))
    builder.add_source(is_below_root ? file.lexically_relative(from.root) : file);
  if (from.train && from.train->kind == ImagePlace::Kind::kTar) {
    builder.add_source(from.train->path);
  }
  const ValidationLabels labels = read_validation_labels(labels_path, *storage);
  const std::vector<std::string> classes =
      from.train ? train_classes(from.root, *from.train, storage) : classes_of(labels, labels_path);
  std::vector<LabelledImage> images;
  for (TarMember& member : list_val_images(from.root, from.images, *storage)) {
    const std::optional<std::int64_t> number = number_in_name(member.name);
    const auto found = number ? labels.find(*number) : labels.end();
    if (found == labels.end()) {
      throw base::DataError(fmt::format("{}: {} has no label in {}",
                                        (from.root / from.images.path).string(), member.name,
                                        labels_path.string()));
    }
    images.push_back({label_of(found->second, classes, labels_path), std::move(member)});
  }
  std::sort(images.begin(), images.end(), [](const LabelledImage& a, const LabelledImage& b) {
    return std::tie(a.label, a.member.name) < std::tie(b.label, b.member.name);
  });
  for (const auto& [label, image] : images) {
    builder.add(source, image.offset, image.size, label, image.name);
  }
  return builder.finish(classes);
}

std::unique_ptr<Dataset> open_val(const fs::path& root, const fs::path& val_labels,
                                  const StoragePointer& storage) {
  const fs::path labels = val_labels.empty() ? find_validation_labels(root, *storage) : val_labels;
  const std::optional<ImagePlace> place = find_val(root, !labels.empty(), *storage);
  const std::optional<ImagePlace> train = find_train(root, *storage);
  if (!place) {
    const bool has_images = find_val(root, /*with_labels=*/true, *storage).has_value();
    const std::string problem = fmt::format(
        "{}: no ImageNet validation data with labels here; expected {} or ILSVRC/Data/CLS-LOC/val/ "
        "beside ILSVRC2012_devkit_t12.tar.gz, LOC_val_solution.csv or a list of names and classes "
        "in data.val_labels, or a folder val/ that is sorted into folders n01440764/",
        root.string(), kValTar);
    if (has_images) throw base::DataError(problem);
    throw AbsentPartError(problem);
  }
  if (place->kind == ImagePlace::Kind::kClassFolders) {
    return open_image_folder(
        root, place->path.string(),
        train ? train_classes(root, *train, storage) : list_classes(root / place->path, storage),
        storage);
  }
  std::string key = fmt::format("ilsvrc2012 val {} {}", place->path.string(), labels.string());
  if (train)
    key += fmt::format(" {} {}", train->path.string(), state_in_key(root, *train, storage));
  return std::make_unique<RangeDataset>(
      load_or_make(
          index_files(root, "ilsvrc2012-val"), *storage,
          [&](const fs::path& file) { return RangeIndex::load(file, root, key, storage); },
          [&] {
            return make_val_index({root, *place, labels, train}, key, storage);
          }),
      storage);
}

}  // namespace

std::unique_ptr<Dataset> open_ilsvrc2012(const fs::path& folder, const fs::path& val_labels,
                                         bool is_training, const StoragePointer& storage) {
  return is_training ? open_train(folder, storage) : open_val(folder, val_labels, storage);
}

std::unique_ptr<Dataset> open(const Ilsvrc2012Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path place = place_of(config.path, "ilsvrc2012");
  return open_ilsvrc2012(place, config.val_labels, split == Split::kTrain, storage);
}

std::unique_ptr<DatasetPlan> make(const Ilsvrc2012Config& config) {
  return plan_of(config, photo_transforms());
}

}  // namespace paceline::data
