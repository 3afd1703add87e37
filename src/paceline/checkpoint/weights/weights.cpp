#include "paceline/checkpoint/weights/weights.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/format/dtypes.h"
#include "paceline/checkpoint/format/torch_writer.h"
#include "paceline/checkpoint/weights/stored_weights.h"
#include "paceline/checkpoint/weights/weight_names.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

bool is_batch_counter(std::string_view name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

bool is_of_head(std::string_view name, std::span<const std::string> head_names) {
  return std::ranges::any_of(head_names, [&](const std::string& head) {
    return name.starts_with(head) && name.substr(head.size()).starts_with(".");
  });
}

/// Whether two shapes differ in the number of classes only, which comes first.
bool differs_in_classes(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return a.size() == b.size() && !a.empty() && a[0] != b[0] &&
         std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

/// Whether a copy is one of bytes in order; LibTorch's, by threads that wait for each other, would
/// take longer.
bool has_same_bytes(const at::Tensor& from, const at::Tensor& to) {
  return from.is_cpu() && to.is_cpu() && from.scalar_type() == to.scalar_type() &&
         from.sizes() == to.sizes() && from.is_contiguous() && to.is_contiguous() &&
         from.numel() > 0;
}

std::vector<std::string> names_of(const StoredWeights& stored) {
  std::vector<std::string> names;
  for (const TensorSource& source : stored.tensors) names.push_back(source.name);
  return names;
}

/// Compares what there is with what is wanted.
class Comparison {
 public:
  Comparison(std::vector<TensorSource> sources, std::span<const NamedTensor> tensors,
             std::span<const std::string> head_names, const ImportOptions& options)
      : options_(options) {
    if (!options.is_strict) head_names_ = head_names;
    for (TensorSource& source : sources) sources_.emplace(source.name, std::move(source));
    for (const NamedTensor& wanted : tensors) {
      const auto found = sources_.find(wanted.name);
      if (found != sources_.end() && is_of_head(wanted.name, head_names_) &&
          differs_in_classes(found->second.shape, wanted.tensor.sizes())) {
        other_classes_ = {found->second.shape[0], wanted.tensor.size(0)};
      }
    }
    for (const NamedTensor& wanted : tensors) compare(wanted);
    for (const auto& [name, source] : sources_) {
      if (is_batch_counter(name)) continue;
      if (!copies_head_ && is_of_head(name, head_names_)) {
        leaves_head_ = true;
        continue;
      }
      problems_.push_back(
          fmt::format("{}: {} in the file, not in this model", name, shape_text(source.shape)));
    }
  }

  void throw_if_different(const fs::path& path) const {
    if (problems_.empty()) return;
    constexpr std::size_t kMost = 1000;  // more than models have
    const auto shown = std::span(problems_).first(std::min(kMost, problems_.size()));
    std::string text = fmt::format("{}: these weights are of another model:\n  {}", path.string(),
                                   fmt::join(shown, "\n  "));
    if (problems_.size() > kMost)
      text += fmt::format("\n  and {} more tensors", problems_.size() - kMost);
    text +=
        "\nSet model.name and the model's options to what the weights were trained as, or "
        "choose other weights";
    if (options_.is_strict)
      text += "; model.pretrained_strict=false lets what can be adapted be adapted";
    throw base::CheckpointError(text);
  }

  std::map<std::string, TensorSource> take_copied() { return std::move(copied_); }
  bool lacks_head() const { return lacks_head_ || other_classes_; }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (other_classes_) {
      notes.push_back(fmt::format("{} has {} classes in the file and {} here: kept as initialised",
                                  base::join(head_names_, " and "), other_classes_->first,
                                  other_classes_->second));
    } else if (lacks_head_) {
      notes.push_back(fmt::format("{} is not in the file{}: kept as initialised",
                                  base::join(head_names_, " and "),
                                  leaves_head_ ? " in this form" : ""));
    } else if (leaves_head_) {
      notes.push_back(fmt::format("{} of the file is not used, as this model gives out features",
                                  base::join(head_names_, " and ")));
    }
    if (num_lacked_ > 0)
      notes.push_back(fmt::format(
          "{} tensors that were added since are not in the file: they start as made", num_lacked_));
    notes.insert(notes.end(), adapted_.begin(), adapted_.end());
    if (!converted_.empty())
      notes.push_back(fmt::format("converted from {}", fmt::join(converted_, ", ")));
    return notes;
  }

 private:
  /// Takes what is wanted out of what there is.
  void compare(const NamedTensor& wanted) {
    const auto node = sources_.extract(wanted.name);
    const bool is_absent = node.empty();
    if (is_of_head(wanted.name, head_names_) && (is_absent || other_classes_)) {
      lacks_head_ = lacks_head_ || is_absent;
    } else if (is_absent) {
      if (is_batch_counter(wanted.name)) return;
      if (options_.may_lack.contains(wanted.name)) {
        ++num_lacked_;
        return;
      }
      problems_.push_back(
          fmt::format("{}: missing, wanted {}", wanted.name, shape_text(wanted.tensor.sizes())));
    } else if (wanted.tensor.sizes() != at::IntArrayRef(node.mapped().shape) &&
               !adapt(node.mapped())) {
      problems_.push_back(fmt::format("{}: the file has {}, wanted {}", wanted.name,
                                      shape_text(node.mapped().shape),
                                      shape_text(wanted.tensor.sizes())));
    } else {
      copies_head_ = copies_head_ || is_of_head(wanted.name, head_names_);
      if (node.mapped().dtype != wanted.tensor.scalar_type())
        converted_.insert(dtype_name(node.mapped().dtype));
      copied_.emplace(wanted.name, std::move(node.mapped()));
    }
  }

  /// Makes a source's values fit, if anyone knows how.
  bool adapt(TensorSource& source) {
    if (!options_.adaptation_of || options_.is_strict) return false;
    auto adaptation = options_.adaptation_of(source.name, source.shape);
    if (!adaptation) return false;
    adapted_.push_back(fmt::format("{}: {}", source.name, adaptation->note));
    source.load = [load = std::move(source.load), apply = std::move(adaptation->apply)] {
      return apply(load());
    };
    return true;
  }

  std::span<const std::string> head_names_;
  const ImportOptions& options_;
  std::map<std::string, TensorSource> sources_;  // that nobody wanted yet
  std::optional<std::pair<std::int64_t, std::int64_t>> other_classes_;
  bool lacks_head_ = false;
  bool copies_head_ = false;
  bool leaves_head_ = false;    ///< the file has one that this model cannot take
  std::size_t num_lacked_ = 0;  ///< of those that may be
  std::map<std::string, TensorSource> copied_;
  std::set<std::string_view> converted_;
  std::vector<std::string> adapted_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<NamedTensor> named_tensors(const torch::nn::Module& module) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : module.named_parameters()) tensors.push_back({item.key(), item.value()});
  for (const auto& item : module.named_buffers()) tensors.push_back({item.key(), item.value()});
  return tensors;
}

std::vector<std::string> names_of_weights(const Manifest& manifest) {
  std::set<std::string> names;
  for (const TensorRecord& record : manifest.tensors) {
    if (!record.name.starts_with(tensor::kAlgorithms)) continue;
    const std::size_t begin = tensor::kAlgorithms.size();
    names.insert(record.name.substr(begin, record.name.find('/') - begin));
  }
  return {names.begin(), names.end()};
}

std::string chosen_weights(const Manifest& manifest, const std::string& weights) {
  const std::string& chosen = weights.empty() ? manifest.standing_weights : weights;
  if (chosen.empty() || chosen == kTrainedWeights) return {};
  const std::vector<std::string> known = names_of_weights(manifest);
  if (std::ranges::find(known, chosen) == known.end()) {
    throw base::CheckpointError(
        fmt::format("the checkpoint of step {} has no weights '{}'; besides the trained ones it "
                    "has {}",
                    manifest.step, chosen, known.empty() ? "none" : base::join(known, ", ")));
  }
  return chosen;
}

std::string name_of_weight(const Manifest& manifest, const std::string& weights,
                           const std::string& name) {
  const std::string chosen = chosen_weights(manifest, weights);
  if (chosen.empty()) return name;
  const std::string theirs = fmt::format("{}{}/{}", tensor::kAlgorithms, chosen, name);
  const bool is_there = std::ranges::any_of(
      manifest.tensors, [&](const TensorRecord& record) { return record.name == theirs; });
  return is_there ? theirs : name;
}

std::vector<TensorSource> model_tensors(CheckpointReader& reader, const std::string& weights) {
  std::vector<TensorSource> tensors;
  for (const TensorRecord& record : reader.manifest().tensors) {
    const bool is_other = std::ranges::any_of(tensor::kOtherStates, [&](std::string_view prefix) {
      return record.name.starts_with(prefix);
    });
    if (is_other) continue;
    tensors.push_back({record.name, *dtype_from_name(record.dtype), record.shape,
                       [&reader, name = name_of_weight(reader.manifest(), weights, record.name)] {
                         return reader.tensor(name);
                       }});
  }
  return tensors;
}

std::set<std::string> names_in_weights(const fs::path& path, const std::string& key) {
  const std::vector<std::string> names =
      translate_weight_names(names_of(open_weights(path, key))).names;
  return {names.begin(), names.end()};
}

std::optional<SurgeryRecord> surgery_of_weights(const fs::path& path, const std::string& key) {
  return open_weights(path, key).surgery;
}

void export_weights(base::FileSystem& files, const fs::path& path,
                    std::span<const TensorSource> tensors, const Metadata& metadata,
                    WeightFormat format) {
  const fs::path temporary = base::unfinished_path(path);
  try {
    if (format == WeightFormat::kTorch) {
      write_torch_file(files, temporary, tensors, metadata);
    } else {
      Metadata with_format = metadata;
      with_format.emplace("format", "pt");
      write_safetensors(files, temporary, tensors, with_format);
    }
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
                           std::span<const std::string> head_names, const ImportOptions& options) {
  StoredWeights stored = open_weights(path, options.key);
  owner_ = std::move(stored.owner);
  notes_ = std::move(stored.notes);
  const std::vector<std::string> names = names_of(stored);
  TranslatedNames translated = translate_weight_names(names);
  for (std::size_t i = 0; i < names.size(); ++i)
    stored.tensors[i].name = std::move(translated.names[i]);
  std::ranges::move(translated.notes, std::back_inserter(notes_));
  Comparison comparison(std::move(stored.tensors), tensors, head_names, options);
  comparison.throw_if_different(path);
  sources_ = comparison.take_copied();
  lacks_head_ = comparison.lacks_head();
  class_names_ = std::move(stored.class_names);
  std::ranges::move(comparison.notes(), std::back_inserter(notes_));
}

bool WeightImport::copy(const std::string& name, const at::Tensor& tensor) const {
  const auto found = sources_.find(name);
  if (found == sources_.end()) return false;
  const at::NoGradGuard no_grad;
  const at::Tensor values = found->second.load();
  if (has_same_bytes(values, tensor)) {
    std::memcpy(tensor.mutable_data_ptr(), values.const_data_ptr(), values.nbytes());
  } else {
    tensor.copy_(values);
  }
  return true;
}

ImportReport import_weights(const fs::path& path, std::span<const NamedTensor> tensors,
                            std::span<const std::string> head_names) {
  const WeightImport import(path, tensors, head_names);
  std::size_t num_loaded = 0;
  for (const NamedTensor& wanted : tensors)
    num_loaded += import.copy(wanted.name, wanted.tensor) ? 1 : 0;
  return {num_loaded, import.notes()};
}

}  // namespace paceline::checkpoint
