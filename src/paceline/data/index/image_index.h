#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/index/listing_progress.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// The list of an image folder's samples: 16 bytes a sample and its file name, in memory as on
/// disk. Order and labels are those of torchvision's
/// ImageFolder: classes by name; within one, folders by path, then files by name, each compared
/// byte by byte. Remote folders have no time of change, so whether an index of theirs still holds
/// is not known.
class ImageIndex {
 public:
  /// Lists `root`/<class>/**, on `num_threads` threads (0: all cores). Files with an image's name
  /// (see is_image_name()) are samples; others are left out. A class of
  /// `classes` without a folder has no samples; a folder that is not in `classes`, or holds no
  /// samples, is a DataError that names it. Symbolic links are followed. `progress`: of
  /// the storage otherwise. Throws Interrupted, too.
  static ImageIndex list(const std::filesystem::path& root, const std::vector<std::string>& classes,
                         int num_threads = 0,
                         const std::shared_ptr<const Storage>& storage = local_storage(),
                         ListingProgress* progress = nullptr);

  /// The index saved in `file`; nothing if there is none, it is of another version or damaged, or a
  /// folder of `root` or `classes` has changed since. Replacing a file's content under its old name
  /// goes unnoticed, and so do all changes of remote folders.
  static std::optional<ImageIndex> load(const std::filesystem::path& file,
                                        const std::filesystem::path& root,
                                        const std::vector<std::string>& classes);

  /// Writes the index under a temporary name and renames it. False if that is not possible.
  bool save(const std::filesystem::path& file) const;

  /// False while a folder is so young that a further change might not alter its time of change.
  bool is_settled() const;

  std::int64_t size() const { return static_cast<std::int64_t>(samples_.size()); }
  std::int64_t label(std::int64_t index) const;
  /// Of a sample of another machine; nothing of this one's.
  std::optional<FileFacts> facts(std::int64_t index) const;
  /// Relative to the root.
  std::string path(std::int64_t index) const;
  /// What lies among the samples and is none: files with other names, unless they are hidden, and
  /// links to nothing.
  std::int64_t num_left_out() const;
  /// The first of them, relative to the root, in words.
  std::string left_out() const;
  /// Of the relative paths, file sizes and labels.
  std::string fingerprint() const;

 private:
  struct Header;
  struct Folder;
  struct Sample;
  struct Facts;
  class Builder;

  ImageIndex(std::shared_ptr<const void> owner, std::string_view bytes);
  bool has_right_sizes() const;
  bool is_intact() const;
  bool matches(const std::filesystem::path& root, const std::vector<std::string>& classes) const;
  const Header& header() const;
  std::string_view text(std::uint64_t offset, std::uint64_t length) const;

  std::shared_ptr<const void> owner_;  ///< of the memory below
  std::string_view bytes_;
  std::span<const Folder> folders_;
  std::span<const Sample> samples_;
  std::span<const Facts> facts_;
  std::string_view text_;
};

/// Whether a file is taken for an image: its name ends in .jpg, .jpeg, .png, .webp, .bmp, .tif,
/// .tiff, .ppm or .pgm in upper or lower case, as torchvision has it.
bool is_image_name(std::string name);

/// The names of the folders in `root`, sorted: the classes. Throws DataError that says what was
/// expected if there are none.
std::vector<std::string> list_classes(
    const std::filesystem::path& root,
    const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
