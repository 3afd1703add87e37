#pragma once

#include "paceline/nn/unit.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/sharded/shard_groups.h"
#include "paceline/parallel/sharded/shard_unit.h"
#include "paceline/parallel/sharded/sharded_config.h"
#include "paceline/parallel/strategy.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace paceline::parallel {

/// Where a parameter lies in a ShardedLayout.
struct ShardPlace {
  std::size_t unit = 0;  ///< a number in units()
  std::size_t flat = 0;  ///< in the unit's flats()
  std::size_t slot = 0;  ///< in the flat's layout().slots
};

/// How a model's parameters are cut: into units, these into flat tensors, and those over the ranks.
/// What lies where never changes; what of it is gathered or reduced is the units' own.
class ShardedLayout {
 public:
  /// Takes over the parameters of `module` as Strategy::prepare() does, unit by unit; with
  /// `keeps_full` the gathered parameters stay allocated. `groups` must outlive this. Every rank
  /// must call it. Throws ConfigError for models that differ, and for a block in `config` that the
  /// model does not have.
  ShardedLayout(const torch::nn::Module& module, std::span<const GroupRule> rules,
                const FillValues& fill, const ShardedConfig& config, bool keeps_full,
                const ShardGroups& groups);

  /// Blocks in the order of forward, then what lies in none.
  const std::vector<std::unique_ptr<ShardUnit>>& units() const { return units_; }
  ShardUnit& root() const { return *units_.back(); }
  std::size_t num_blocks() const { return units_.size() - 1; }
  /// The model's blocks that make up each unit but the last.
  const std::vector<std::vector<nn::NamedUnit>>& blocks() const { return blocks_; }

  /// The parameters that are trained, as gradient hooks number them.
  const std::vector<NamedTensor>& trained() const { return trained_; }
  const ShardPlace& place_of_trained(std::size_t number) const { return places_[number]; }
  /// Null for what is no parameter.
  const ShardPlace* find(const at::Tensor& tensor) const;
  const ShardedFlat& flat_at(const ShardPlace& place) const;

  /// Units with trained parameters in the order in which backward completes them.
  const std::vector<ShardUnit*>& reductions() const { return reductions_; }
  /// Of the flats of reductions().
  const std::vector<at::Tensor>& grad_shards() const { return grad_shards_; }
  /// For each block, whether backward should come to it: a parameter that requires a gradient is
  /// registered no later than its last one.
  std::vector<char> reached_by_backward() const;

  /// Throws InternalError that names a parameter which is no longer a view.
  void check_views() const;

 private:
  void number_parameters();
  void order_reductions();

  std::vector<std::vector<nn::NamedUnit>> blocks_;
  std::vector<std::unique_ptr<ShardUnit>> units_;
  std::vector<NamedTensor> trained_;
  std::vector<ShardPlace> places_;                        // of each of trained_
  std::unordered_map<const void*, ShardPlace> place_of_;  // of all parameters, by TensorImpl
  std::vector<ShardUnit*> reductions_;
  std::vector<at::Tensor> grad_shards_;
  std::vector<std::pair<at::Tensor, std::size_t>> registered_;  // parameters and their units
};

}  // namespace paceline::parallel
