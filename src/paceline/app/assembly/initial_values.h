#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network.h"
#include "paceline/parallel/strategy.h"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace paceline::app {

/// The parameters and buffers of a network before algorithms change it, which may move some and add
/// others: under these names weights are looked up, and by their numbers first values are drawn.
class TensorOrigins {
 public:
  explicit TensorOrigins(const nn::Network& network);

  struct Origin {
    std::string name;      ///< a tied one's first
    std::uint64_t number;  ///< in nn::named_parameters(), if it is one of them
  };
  /// nullptr for a tensor that was added since.
  const Origin* find(const at::Tensor& tensor) const;
  /// All of them under all their names, in the order of nn::state_dict().
  const std::vector<nn::NamedTensor>& tensors() const { return tensors_; }

 private:
  std::vector<nn::NamedTensor> tensors_;
  std::unordered_map<const void*, Origin> origins_;
};

/// What gives each parameter of the network its first values: those of model.pretrained, or drawn
/// from run.seed. Copies at once what is pretrained of buffers and of parameters that algorithms
/// added, which have values already. `class_names` are the data's; `notes` receives what a user
/// should know of the pretrained weights. The network must outlive the function.
parallel::FillValues initial_values(const Recipe& recipe, const nn::Network& network,
                                    const TensorOrigins& origins,
                                    std::span<const std::string> class_names,
                                    std::vector<std::string>& notes);
/// For a network that no algorithm has changed.
inline parallel::FillValues initial_values(const Recipe& recipe, const nn::Network& network,
                                           std::span<const std::string> class_names,
                                           std::vector<std::string>& notes) {
  return initial_values(recipe, network, TensorOrigins(network), class_names, notes);
}

}  // namespace paceline::app
