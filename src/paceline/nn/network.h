#pragma once

#include "paceline/nn/module_tree.h"
#include "paceline/tensor/adaptation.h"
#include "paceline/tensor/draws.h"
#include "paceline/tensor/fields.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace paceline::nn {

/// What a forward pass may depend on besides its input and weights. Random draws (dropout, drop
/// path) are keyed by (seed, purpose, step, global position of the sample), so they repeat wherever
/// and in whatever grouping the sample is computed.
struct ForwardContext {
  std::uint64_t seed = 0;
  std::int64_t step = 0;            ///< optimizer step; of an evaluation the step it comes after
  std::int64_t first_position = 0;  ///< of the batch's first sample in the epoch's global order
};

/// The sizes of one sample's fields, without the dimension of the batch, by name.
using SampleSizes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// A network from some of a batch's fields to one tensor, the first dimension of which are samples.
///
/// Names of parameters and buffers are those of torchvision or timm. The constructor leaves the
/// parameters undefined and draws nothing from LibTorch's default generator. What a forward pass
/// draws it draws by modules of nn/dropout.h, by which is seen that no step repeats another.
class Network : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const tensor::Fields& inputs, const ForwardContext& context) = 0;

  /// Gives one of the parameters the values that the reference gives it at construction (same
  /// distributions, own generator). The others may be without memory meanwhile.
  virtual void initialize_parameter(const NamedTensor& parameter,
                                    const tensor::DrawKey& key) const = 0;

  /// Initialises all parameters, each with its own key: the seed and its number in
  /// named_parameters(), for a tied one the first.
  void initialize(std::uint64_t seed) const {
    tensor::DrawKey key{.seed = seed};
    std::unordered_set<const void*> seen;
    for (const NamedTensor& parameter : nn::named_parameters(*this)) {
      if (seen.insert(parameter.tensor.unsafeGetTensorImpl()).second)
        initialize_parameter(parameter, key);
      ++key.index;
    }
  }

  /// Multiply-accumulate operations of one forward pass of one sample with fields of these sizes,
  /// times two. Throws ConfigError for a size that the network does not take.
  virtual double flops_per_sample(const SampleSizes& sizes) const = 0;

  /// The state_dict prefixes of the classifier ("fc"; "head" and "head_dist"), which is drawn anew
  /// when classes differ; empty if there is none.
  virtual std::vector<std::string> head_names() const { return {}; }

  /// Whether it gives out features, of which no classifier makes logits.
  virtual bool gives_features() const { return false; }

  /// How values that a file holds for the tensor `name` in another shape are made to fit, such as
  /// position embeddings of another image size; nothing if they cannot be.
  virtual std::optional<tensor::Adaptation> adapt_stored(
      const std::string& name, std::span<const std::int64_t> stored) const {
    static_cast<void>(name);
    static_cast<void>(stored);
    return std::nullopt;
  }

  /// Of a parameter that stored weights may lack because the network has grown since they were
  /// trained: which parameter's stored values it starts from, or an empty name for one that is
  /// drawn as ever. Nothing: weights must have it.
  virtual std::optional<std::string> grown_from(const std::string& parameter) const {
    static_cast<void>(parameter);
    return std::nullopt;
  }

  /// The state_dict prefixes of parts that are used and never trained, so that their values have to
  /// come from stored weights.
  virtual std::vector<std::string> parts_trained_before() const { return {}; }

  /// The state_dict prefixes of what comes before the first block.
  virtual std::vector<std::string> stem_names() const { return {}; }

  /// The state_dict prefixes of each layer, the stem first and the head last, by which learning
  /// rates decay; empty if they are stem_names(), each unit and head_names().
  virtual std::vector<std::vector<std::string>> layer_names() const { return {}; }
};

}  // namespace paceline::nn
