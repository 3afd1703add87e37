#include "paceline/data/range_dataset.h"

#include "paceline/base/error.h"
#include "paceline/data/input_file.h"

#include <atomic>

#include <fmt/format.h>

namespace paceline::data {

/// Keeps the first files open and reads the others by opening them each time: a process may often
/// have no more than 1,024 files open.
class RangeDataset::OpenFiles {
 public:
  explicit OpenFiles(std::int64_t num_sources) : files_(static_cast<std::size_t>(num_sources)) {}
  ~OpenFiles() {
    for (const std::atomic<const InputFile*>& file : files_) delete file.load();
  }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  void read(const RangeIndex& index, const ByteRange& range, std::span<std::uint8_t> target) {
    std::atomic<const InputFile*>& kept = files_.at(range.source);
    if (const InputFile* const file = kept.load(std::memory_order_acquire)) {
      return file->read(range.offset, target);
    }
    auto opened = std::make_unique<const LocalFile>(index.source(range.source));
    opened->read(range.offset, target);
    if (num_kept_.load(std::memory_order_relaxed) >= kMaxKept) return;  // or a few more
    const InputFile* expected = nullptr;
    if (kept.compare_exchange_strong(expected, opened.get(), std::memory_order_release)) {
      static_cast<void>(opened.release());  // by `kept` from now on
      num_kept_.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int kMaxKept = 256;
  std::vector<std::atomic<const InputFile*>> files_;
  std::atomic<int> num_kept_ = 0;
};

RangeDataset::RangeDataset(RangeIndex index)
    : index_(std::move(index)),
      classes_(index_.classes()),
      files_(std::make_unique<OpenFiles>(index_.num_sources())) {}

RangeDataset::~RangeDataset() = default;

void RangeDataset::get(std::int64_t index, StoredSample& sample) const {
  const ByteRange range = index_.range(index);
  sample.width = 0;
  sample.height = 0;
  sample.label = index_.label(index);
  if (index_.is_folder(range.source)) {
    const LocalFile file(index_.source(range.source) / index_.name(index));
    sample.bytes.resize(file.size());
    file.read(0, sample.bytes);
  } else {
    sample.bytes.resize(range.size);
    files_->read(index_, range, sample.bytes);
  }
}

std::string RangeDataset::describe(std::int64_t index) const {
  const ByteRange range = index_.range(index);
  const std::string source = index_.source(range.source).string();
  if (index_.is_folder(range.source)) return fmt::format("{}/{}", source, index_.name(index));
  return fmt::format("{}: {} ({} bytes at byte {})", source, index_.name(index), range.size,
                     range.offset);
}

}  // namespace paceline::data
