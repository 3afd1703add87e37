#include "paceline/checkpoint/weights.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/dtypes.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <set>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

bool is_batch_counter(std::string_view name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

bool is_of_head(std::string_view name, std::string_view head_name) {
  return !head_name.empty() && name.starts_with(head_name) &&
         name.substr(head_name.size()).starts_with(".");
}

/// Whether two shapes differ in the number of classes only, which comes first.
bool differs_in_classes(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return a.size() == b.size() && !a.empty() && a[0] != b[0] &&
         std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

/// Compares a file with what is wanted.
class Comparison {
 public:
  Comparison(const SafetensorsFile& file, std::span<const NamedTensor> tensors,
             std::string_view head_name)
      : file_(file), head_name_(head_name) {
    has_other_classes_ =
        std::any_of(tensors.begin(), tensors.end(), [&](const NamedTensor& wanted) {
          const auto* entry = file.find(wanted.name);
          return entry != nullptr && is_of_head(wanted.name, head_name) &&
                 differs_in_classes(entry->shape, wanted.tensor.sizes());
        });
    std::set<std::string> names;
    for (const NamedTensor& wanted : tensors) {
      compare(wanted);
      names.insert(wanted.name);
    }
    for (const auto& entry : file.entries()) {
      if (names.contains(entry.name) || is_batch_counter(entry.name)) continue;
      problems_.push_back(fmt::format("{}: {} in the file, not in this model", entry.name,
                                      shape_text(entry.shape)));
    }
  }

  void throw_if_different() const {
    if (problems_.empty()) return;
    throw base::CheckpointError(fmt::format("{}: these weights are of another model:\n  {}",
                                            file_.path().string(), fmt::join(problems_, "\n  ")));
  }

  std::map<std::string, const SafetensorsFile::Entry*> take_entries() {
    return std::move(entries_);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes = notes_;
    if (!converted_.empty())
      notes.push_back(fmt::format("converted from {}", fmt::join(converted_, ", ")));
    return notes;
  }

 private:
  void compare(const NamedTensor& wanted) {
    const auto* entry = file_.find(wanted.name);
    if (is_of_head(wanted.name, head_name_) && (entry == nullptr || has_other_classes_)) {
      notes_.push_back(
          entry == nullptr
              ? fmt::format("{} is not in the file: kept as initialised", wanted.name)
              : fmt::format("{} has {} classes in the file and {} here: kept as initialised",
                            wanted.name, entry->shape[0], wanted.tensor.size(0)));
    } else if (entry == nullptr) {
      if (is_batch_counter(wanted.name)) return;
      problems_.push_back(
          fmt::format("{}: missing, wanted {}", wanted.name, shape_text(wanted.tensor.sizes())));
    } else if (wanted.tensor.sizes() != at::IntArrayRef(entry->shape)) {
      problems_.push_back(fmt::format("{}: the file has {}, wanted {}", wanted.name,
                                      shape_text(entry->shape), shape_text(wanted.tensor.sizes())));
    } else {
      entries_.emplace(wanted.name, entry);
      if (entry->dtype != wanted.tensor.scalar_type()) converted_.insert(dtype_name(entry->dtype));
    }
  }

  const SafetensorsFile& file_;
  std::string_view head_name_;
  bool has_other_classes_ = false;
  std::map<std::string, const SafetensorsFile::Entry*> entries_;
  std::set<std::string_view> converted_;
  std::vector<std::string> problems_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<NamedTensor> named_tensors(const torch::nn::Module& module) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : module.named_parameters()) tensors.push_back({item.key(), item.value()});
  for (const auto& item : module.named_buffers()) tensors.push_back({item.key(), item.value()});
  return tensors;
}

std::vector<TensorSource> model_tensors(CheckpointReader& reader) {
  std::vector<TensorSource> tensors;
  for (const TensorRecord& record : reader.manifest().tensors) {
    const bool is_other = std::ranges::any_of(tensor::kOtherStates, [&](std::string_view prefix) {
      return record.name.starts_with(prefix);
    });
    if (is_other) continue;
    tensors.push_back({record.name, *dtype_from_name(record.dtype), record.shape,
                       [&reader, &record] { return reader.tensor(record.name); }});
  }
  return tensors;
}

void export_weights(base::FileSystem& files, const fs::path& path,
                    std::span<const TensorSource> tensors) {
  const fs::path temporary = base::unfinished_path(path);
  try {
    write_safetensors(files, temporary, tensors, {{"format", "pt"}});
    files.rename(temporary, path);
  } catch (const base::FileError&) {
    std::error_code ignored;  // the first error is the one to report
    fs::remove(temporary, ignored);
    throw;
  }
  files.sync_directory(path.parent_path());
}

void export_weights(base::FileSystem& files, const fs::path& path,
                    std::span<const NamedTensor> tensors) {
  export_weights(files, path, sources_of(tensors));
}

WeightImport::WeightImport(const fs::path& path, std::span<const NamedTensor> tensors,
                           std::string_view head_name)
    : file_(path) {
  Comparison comparison(file_, tensors, head_name);
  comparison.throw_if_different();
  entries_ = comparison.take_entries();
  notes_ = comparison.notes();
}

bool WeightImport::copy(const std::string& name, const at::Tensor& tensor) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return false;
  const at::NoGradGuard no_grad;
  tensor.copy_(file_.tensor(*found->second));
  return true;
}

ImportReport import_weights(const fs::path& path, std::span<const NamedTensor> tensors,
                            std::string_view head_name) {
  const WeightImport import(path, tensors, head_name);
  std::size_t num_loaded = 0;
  for (const NamedTensor& wanted : tensors)
    num_loaded += import.copy(wanted.name, wanted.tensor) ? 1 : 0;
  return {num_loaded, import.notes()};
}

}  // namespace paceline::checkpoint
