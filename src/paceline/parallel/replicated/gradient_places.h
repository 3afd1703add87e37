#pragma once

#include "paceline/tensor/arena.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paceline::parallel {

/// Where the gradients of an arena's slots lie. With `may_stay` a large one can stay where backward
/// has put it, so that nothing copies it: then its slot in the arena is void.
class GradientPlaces {
 public:
  /// What it takes a pass over memory to copy; smaller ones are in a cache.
  static constexpr std::int64_t kLeastToStay = std::int64_t{1} << 17;  // elements

  /// `arena` must outlive this.
  GradientPlaces(const tensor::Arena& arena, bool may_stay);

  /// A slot's gradient, in the sizes and strides of its parameter; no view in autograd's sense.
  at::Tensor& share(std::size_t slot) { return shares_[slot]; }
  /// Has the slot's gradient be this one, which nobody else may write any more, if it is large and
  /// laid out like its parameter; else returns false.
  bool leave(std::size_t slot, const at::Tensor& grad);
  /// Frees what has stayed elsewhere: nobody reads it any more.
  void release();

  /// What an optimizer updates at once: the layout's ranges, less what can lie elsewhere, and each
  /// of those.
  const std::vector<tensor::FlatRange>& ranges() const { return ranges_; }
  /// The gradients of a range, [n]: the same tensor for good, whatever memory it has.
  at::Tensor range(std::size_t number) const;
  /// Of gradients that can lie elsewhere.
  std::uint64_t bytes_beside_arena() const;

 private:
  void return_to_arena(std::size_t slot);

  const tensor::Arena& arena_;
  std::vector<tensor::FlatRange> ranges_;
  std::vector<at::Tensor> shares_;
  std::vector<at::Tensor>
      movable_;  // by slot, flat; undefined for those that always are in the arena
  std::vector<char> is_elsewhere_;  // by slot
};

}  // namespace paceline::parallel
