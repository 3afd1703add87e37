#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/tensor/adaptation.h"
#include "paceline/tensor/fwd.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::checkpoint {

/// The key of the exported metadata under which the classes' names stand, a JSON list by label.
inline constexpr std::string_view kClassNamesKey = "class_names";
/// Likewise of what was done to the network, as surgery_to_json() writes it.
inline constexpr std::string_view kSurgeryKey = "surgery";

/// By which the trained weights are asked for where others stand for them.
inline constexpr std::string_view kTrainedWeights = "trained";

/// Model weights as plain safetensors files with the names of torchvision or timm, which Python
/// reads with safetensors.torch.load_file and load_state_dict(strict=True).

/// Parameters and buffers of a module, with their state_dict names. The tensors are the module's
/// own.
std::vector<NamedTensor> named_tensors(const torch::nn::Module& module);

/// The names of the algorithms whose weights a checkpoint holds besides the trained ones.
std::vector<std::string> names_of_weights(const Manifest& manifest);

/// The algorithm whose weights of a checkpoint are asked for by `weights`: its name; "" if that is
/// kTrainedWeights. Empty asks for those that stand for the trained ones (Manifest), else for
/// these. Throws CheckpointError, which says what weights there are, if there are none of that
/// algorithm.
std::string chosen_weights(const Manifest& manifest, const std::string& weights);

/// What a checkpoint calls the weight of this name among those that chosen_weights() tells: the
/// name itself where the algorithm has none of it. Throws what chosen_weights() throws.
std::string name_of_weight(const Manifest& manifest, const std::string& weights,
                           const std::string& name);

/// The model's tensors of a checkpoint (all but tensor::kOtherStates), with the values that
/// chosen_weights() tells; each is gathered from the files of the ranks when it
/// is loaded. The reader must outlive them. Throws what name_of_weight() throws.
std::vector<TensorSource> model_tensors(CheckpointReader& reader, const std::string& weights = {});

/// What was done to the network of the weights that open_weights() opens; nothing if that is not
/// told. Throws CheckpointError.
std::optional<SurgeryRecord> surgery_of_weights(const std::filesystem::path& path,
                                                const std::string& key = {});

/// Under which names a WeightImport finds what open_weights() opens. Throws CheckpointError.
std::set<std::string> names_in_weights(const std::filesystem::path& path,
                                       const std::string& key = {});

/// As what weights are written.
enum class WeightFormat {
  kSafetensors,
  kTorch,  ///< of torch.save, for torch.load(weights_only=True)
};

/// `metadata` goes into the file, of safetensors beside {"format": "pt"}, which transformers asks
/// for. Holds one tensor at a time. Atomic: at every moment there is the old file or the whole new
/// one. Throws CheckpointError.
void export_weights(base::FileSystem& files, const std::filesystem::path& path,
                    std::span<const TensorSource> tensors, const Metadata& metadata = {},
                    WeightFormat format = WeightFormat::kSafetensors);
void export_weights(base::FileSystem& files, const std::filesystem::path& path,
                    std::span<const NamedTensor> tensors);

/// What may be done to make weights fit.
struct ImportOptions {
  std::string key = {};  ///< chooses among several weights, as open_weights() does
  /// Asked, at once only, for what is stored in another shape.
  tensor::FindAdaptation adaptation_of = {};
  /// Names of tensors that keep their values where the weights have none for them.
  std::set<std::string> may_lack = {};
  /// Nothing: no adaptation, and no head that stays as initialised.
  bool is_strict = false;
};

/// Weights for a model, of which one tensor after the other is copied.
class WeightImport {
 public:
  /// `path` is one that open_weights() opens; a checkpoint has been verified by whoever names it.
  /// Compares the names (as translate_weight_names() gives them) and shapes with those of
  /// `tensors`, whose values are not read; throws as import_weights() does.
  WeightImport(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
               std::span<const std::string> head_names, const ImportOptions& options = {});

  /// Copies one tensor's values; returns false if there are none that fit ("kept as initialised").
  bool copy(const std::string& name, const at::Tensor& tensor) const;
  /// Whether it has values for a tensor.
  bool has(const std::string& name) const { return sources_.contains(name); }
  /// How many tensors it has values for.
  std::size_t num_tensors() const { return sources_.size(); }
  /// Whether no values for the classifier are there, or none for as many classes.
  bool lacks_head() const { return lacks_head_; }
  /// Of the classifier, by label; empty if the file does not tell.
  const std::vector<std::string>& class_names() const { return class_names_; }
  /// What a user should know, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::shared_ptr<const void> owner_;            ///< of what the sources read
  std::map<std::string, TensorSource> sources_;  ///< that are copied, as they fit
  bool lacks_head_ = false;
  std::vector<std::string> class_names_;
  std::vector<std::string> notes_;
};

/// What an import did besides copying, a sentence each, for the user to see.
struct ImportReport {
  std::size_t num_loaded = 0;
  std::vector<std::string> notes;
};

/// Copies the weights of a file or checkpoint into `tensors`, converting dtypes. If the classifier
/// `head_names` ("fc"; "head") has another number of classes, the one in `tensors` stays as it was
/// initialised, and a note says so. num_batches_tracked may be absent on either side. Throws
/// CheckpointError that names each tensor that is missing, extra or of another shape; then nothing
/// was copied.
ImportReport import_weights(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                            std::span<const std::string> head_names);

}  // namespace paceline::checkpoint
