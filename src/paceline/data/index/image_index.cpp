#include "paceline/data/index/image_index.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/index/image_listing.h"
#include "paceline/data/index/index_cache.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace paceline::data {

namespace fs = std::filesystem;

// The file: header, folders, samples, facts, text (folder paths, class names and file names on
// end).
struct ImageIndex::Header {
  std::array<char, 8> magic{};
  std::uint64_t num_folders = 0;
  std::uint64_t num_samples = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t classes_offset = 0;  ///< in the text: class names, each followed by '/'
  std::uint64_t classes_bytes = 0;
  std::uint64_t num_left_out = 0;
  std::uint64_t left_out_offset = 0;  ///< in the text: the first of them
  std::uint64_t left_out_bytes = 0;
  std::uint64_t num_facts = 0;  ///< as many as samples, or none
  std::uint64_t fingerprint = 0;
  std::uint64_t checksum = 0;  ///< of all else in the file; stands last here
};

/// The root is folder 0, then come the classes' folders in the order of their samples.
struct ImageIndex::Folder {
  std::uint64_t path_offset = 0;
  std::uint32_t path_length = 0;
  std::uint32_t label = 0;
  std::int64_t changed = 0;  ///< last change, in the file clock's ticks
};

struct ImageIndex::Sample {
  std::uint64_t name_offset = 0;
  std::uint32_t name_length = 0;
  std::uint32_t folder = 0;
};

/// Of a sample of another machine.
struct ImageIndex::Facts {
  std::uint64_t size = 0;
  std::int64_t changed = 0;
};

namespace {

constexpr std::array<char, 8> kMagic = {'P', 'L', 'I', 'M', 'G', 'I', 'X', '4'};
/// Class names cannot hold a '/', so it may separate them.
std::string joined(const std::vector<std::string>& classes) {
  return fmt::format("{}/", fmt::join(classes, "/"));
}

/// Of the file without the checksum itself, which ends the header.
std::uint64_t checksum_of(std::string_view file, std::size_t header_bytes) {
  base::Xxh3Stream hash;
  hash.update(file.substr(0, header_bytes - sizeof(std::uint64_t)));
  hash.update(file.substr(header_bytes));
  return hash.digest();
}

template <class T>
std::span<const T> view_as(std::string_view bytes, std::size_t offset, std::uint64_t count) {
  return {reinterpret_cast<const T*>(bytes.data() + offset), static_cast<std::size_t>(count)};
}

}  // namespace

/// Collects the parts of an index and lays them out as a file.
class ImageIndex::Builder {
 public:
  /// `keeps_facts`: of the samples, to open them by.
  Builder(const std::vector<std::string>& classes, std::int64_t root_changed, bool keeps_facts)
      : keeps_facts_(keeps_facts) {
    folders_.push_back({0, 0, 0, root_changed});
    const std::string names = joined(classes);
    header_.classes_offset = append(names);
    header_.classes_bytes = names.size();
    hash_.update(names);
  }

  void add(const ListedFolder& folder, std::uint32_t label) {
    folders_.push_back({append(folder.path), static_cast<std::uint32_t>(folder.path.size()), label,
                        folder.changed});
    for (const FileEntry& file : folder.files) {
      samples_.push_back({append(file.name), static_cast<std::uint32_t>(file.name.size()),
                          static_cast<std::uint32_t>(folders_.size() - 1)});
      if (keeps_facts_) facts_.push_back({file.facts.size, file.facts.changed});
      const std::string line =
          fmt::format("{}/{}\n{} {}\n", folder.path, file.name, file.facts.size, label);
      hash_.update(line);
    }
    for (const std::string& path : folder.left_out) {
      if (static_cast<std::int64_t>(header_.num_left_out++) < LeftOut::kMostNamed)
        left_out_ += fmt::format("{}{}", left_out_.empty() ? "" : ", ", path);
    }
  }

  ImageIndex finish() {
    header_.magic = kMagic;
    header_.left_out_offset = append(left_out_);
    header_.left_out_bytes = left_out_.size();
    header_.num_folders = folders_.size();
    header_.num_samples = samples_.size();
    header_.num_facts = facts_.size();
    header_.text_bytes = text_.size();
    header_.fingerprint = hash_.digest();
    auto bytes = std::make_shared<std::string>();
    const auto put = [&bytes](const void* start, std::size_t size) {
      bytes->append(static_cast<const char*>(start), size);
    };
    put(&header_, sizeof header_);
    put(folders_.data(), folders_.size() * sizeof(Folder));
    put(samples_.data(), samples_.size() * sizeof(Sample));
    put(facts_.data(), facts_.size() * sizeof(Facts));
    put(text_.data(), text_.size());
    header_.checksum = checksum_of(*bytes, sizeof header_);
    std::memcpy(bytes->data(), &header_, sizeof header_);
    return {bytes, *bytes};
  }

 private:
  std::uint64_t append(const std::string& text) {
    text_ += text;
    return text_.size() - text.size();
  }

  const bool keeps_facts_;
  Header header_;
  std::vector<Folder> folders_;
  std::vector<Sample> samples_;
  std::vector<Facts> facts_;
  std::string text_;
  std::string left_out_;
  base::Xxh3Stream hash_;
};

ImageIndex::ImageIndex(std::shared_ptr<const void> owner, std::string_view bytes)
    : owner_(std::move(owner)), bytes_(bytes) {
  if (!has_right_sizes()) return;
  const std::size_t samples_at = sizeof(Header) + header().num_folders * sizeof(Folder);
  const std::size_t facts_at = samples_at + header().num_samples * sizeof(Sample);
  const std::size_t text_at = facts_at + header().num_facts * sizeof(Facts);
  folders_ = view_as<Folder>(bytes_, sizeof(Header), header().num_folders);
  samples_ = view_as<Sample>(bytes_, samples_at, header().num_samples);
  facts_ = view_as<Facts>(bytes_, facts_at, header().num_facts);
  text_ = bytes_.substr(text_at);
}

const ImageIndex::Header& ImageIndex::header() const {
  return *reinterpret_cast<const Header*>(bytes_.data());
}

bool ImageIndex::has_right_sizes() const {
  if (bytes_.size() < sizeof(Header) || header().magic != kMagic) return false;
  const std::uint64_t limit = bytes_.size();
  if (header().num_folders > limit || header().num_samples > limit || header().text_bytes > limit) {
    return false;  // keeps the sum below from overflowing
  }
  if (header().num_facts != 0 && header().num_facts != header().num_samples) return false;
  return sizeof(Header) + header().num_folders * sizeof(Folder) +
             header().num_samples * sizeof(Sample) + header().num_facts * sizeof(Facts) +
             header().text_bytes ==
         limit;
}

bool ImageIndex::is_intact() const {
  if (samples_.empty() || folders_.empty()) return false;
  const auto lies_inside = [this](std::uint64_t offset, std::uint64_t length) {
    return offset <= text_.size() && length <= text_.size() - offset;
  };
  return checksum_of(bytes_, sizeof(Header)) == header().checksum &&
         lies_inside(header().classes_offset, header().classes_bytes) &&
         lies_inside(header().left_out_offset, header().left_out_bytes) &&
         std::all_of(folders_.begin(), folders_.end(),
                     [&](const Folder& f) { return lies_inside(f.path_offset, f.path_length); }) &&
         std::all_of(samples_.begin(), samples_.end(), [&](const Sample& s) {
           return s.folder < folders_.size() && lies_inside(s.name_offset, s.name_length);
         });
}

bool ImageIndex::matches(const fs::path& root, const std::vector<std::string>& classes) const {
  if (text(header().classes_offset, header().classes_bytes) != joined(classes)) return false;
  if (is_remote(root)) return true;
  const auto storage = local_storage();
  return std::all_of(folders_.begin(), folders_.end(), [&](const Folder& folder) {
    const fs::path path = root / text(folder.path_offset, folder.path_length);
    const std::optional<FileFacts> now = storage->facts(path.string());
    return now && now->changed == folder.changed;
  });
}

ImageIndex ImageIndex::list(const fs::path& root, const std::vector<std::string>& classes,
                            int num_threads, const std::shared_ptr<const Storage>& storage,
                            ListingProgress* progress) {
  const bool is_far = is_remote(root);
  Builder builder(classes, is_far ? 0 : time_of_change(root, *storage), is_far);
  ListingProgress own_progress(root.string(), *storage);
  if (progress == nullptr) progress = &own_progress;
  const std::vector<std::string> present = list_classes(root, storage);
  std::vector<std::vector<ListedFolder>> listed(present.size());
  base::parallel_for(static_cast<std::int64_t>(present.size()), num_threads, [&](std::int64_t i) {
    const auto which = static_cast<std::size_t>(i);
    listed[which] = list_class(root, present[which], *storage, *progress);
  });
  require_images(root, present, listed);
  for (std::size_t i = 0; i < present.size(); ++i) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), present[i]);
    if (found == classes.end() || *found != present[i]) {
      throw base::DataError(
          fmt::format("{}: the training data has no class '{}' ({} classes); remove the folder or "
                      "add training images",
                      (root / present[i]).string(), present[i], classes.size()));
    }
    for (const ListedFolder& folder : listed[i])
      builder.add(folder, static_cast<std::uint32_t>(found - classes.begin()));
  }
  return builder.finish();
}

std::optional<ImageIndex> ImageIndex::load(const fs::path& file, const fs::path& root,
                                           const std::vector<std::string>& classes) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  try {
    // In memory: a mapped file that loses its bytes under a run would end it.
    const auto content = std::make_shared<const std::string>(base::read_file(file));
    ImageIndex index(content, *content);
    if (index.is_intact() && index.matches(root, classes)) return index;
  } catch (const base::FileError&) {
    // Unreadable is as good as absent: the folder itself can always be listed again.
  }
  return std::nullopt;
}

bool ImageIndex::save(const fs::path& file) const { return save_index(file, bytes_); }

bool ImageIndex::is_settled() const {
  const std::int64_t limit = settled_before();
  return std::all_of(folders_.begin(), folders_.end(),
                     [&](const Folder& folder) { return folder.changed < limit; });
}

std::string_view ImageIndex::text(std::uint64_t offset, std::uint64_t length) const {
  return text_.substr(offset, length);
}

std::int64_t ImageIndex::label(std::int64_t index) const {
  return folders_[samples_[static_cast<std::size_t>(index)].folder].label;
}

std::string ImageIndex::path(std::int64_t index) const {
  const Sample& sample = samples_[static_cast<std::size_t>(index)];
  const Folder& folder = folders_[sample.folder];
  std::string path(text(folder.path_offset, folder.path_length));
  path += '/';
  return path += text(sample.name_offset, sample.name_length);
}

std::optional<FileFacts> ImageIndex::facts(std::int64_t index) const {
  if (facts_.empty()) return std::nullopt;
  const Facts& known = facts_[static_cast<std::size_t>(index)];
  return FileFacts{.size = known.size, .changed = known.changed};
}

std::int64_t ImageIndex::num_left_out() const {
  return static_cast<std::int64_t>(header().num_left_out);
}

std::string ImageIndex::left_out() const {
  return std::string(text(header().left_out_offset, header().left_out_bytes));
}

std::string ImageIndex::fingerprint() const {
  return fmt::format("image_folder:{}:{:016x}", size(), header().fingerprint);
}

bool is_image_name(std::string name) {
  for (char& letter : name) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  static constexpr std::array<std::string_view, 9> kEndings = {
      ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

std::vector<std::string> list_classes(const fs::path& root,
                                      const std::shared_ptr<const Storage>& storage) {
  const std::optional<FileFacts> facts = storage->facts(root.string());
  if (!facts || !facts->is_folder)
    throw base::DataError(fmt::format("{}: no such folder", root.string()));
  std::vector<std::string> classes;
  bool has_images = false;
  for (FileEntry& entry : storage->list(root.string())) {
    if (entry.facts.is_folder) {
      classes.push_back(std::move(entry.name));
    } else {
      has_images = has_images || is_image_name(std::move(entry.name));
    }
  }
  if (classes.empty()) {
    throw base::DataError(fmt::format("{}: no class folders{}; expected {}/*.jpg", root.string(),
                                      has_images ? ", but images beside each other" : "",
                                      (root / "<class>").string()));
  }
  return classes;
}

}  // namespace paceline::data
