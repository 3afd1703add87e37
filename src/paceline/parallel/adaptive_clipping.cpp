#include "paceline/parallel/adaptive_clipping.h"

#include "paceline/base/error.h"
#include "paceline/optim/optimizer.h"
#include "paceline/parallel/gradient_norm.h"
#include "paceline/parallel/strategy.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace paceline::parallel {
namespace {

/// Neighbouring elements of a slot that are parts of as many units, alike in length.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t first_unit = 0;
  std::int64_t num_units = 0;
  std::int64_t length = 0;  ///< of each unit's part
};

/// The units of all parameters, numbered one after the other.
class Units {
 public:
  explicit Units(const optim::ParameterShards& shards) {
    for (const optim::WholeParameter& parameter : shards.parameters) {
      PACELINE_CHECK(parameter.order.empty() || parameter.order.front() == 0,
                     "the units of '{}' do not lie one after the other", parameter.name);
      const std::int64_t units = parameter.sizes.size() > 1 ? parameter.sizes.front() : 1;
      places_.push_back({count_, std::max<std::int64_t>(1, parameter.numel() / units)});
      count_ += units;
    }
  }

  std::int64_t count() const { return count_; }

  /// At most three: a part of a unit, whole ones, and a part of another.
  std::vector<Segment> segments(const optim::ParamPiece& piece) const {
    const auto& [first_unit, length] = places_[static_cast<std::size_t>(piece.parameter)];
    std::vector<Segment> found;
    std::int64_t at = piece.offset;
    const std::int64_t end = piece.offset + piece.end - piece.begin;
    while (at < end) {
      const std::int64_t rest = std::min(end - at, length - at % length);
      const bool is_whole = rest == length;
      const std::int64_t units = is_whole ? (end - at) / length : 1;
      found.push_back({piece.begin + at - piece.offset, first_unit + at / length, units, rest});
      at += units * rest;
    }
    return found;
  }

 private:
  struct Place {
    std::int64_t first_unit = 0;
    std::int64_t length = 0;  ///< elements of a unit
  };
  std::vector<Place> places_;
  std::int64_t count_ = 0;
};

/// The parts of units in a slot's tensor, a row each: a view.
at::Tensor rows_of(const at::Tensor& slot, const Segment& segment) {
  const std::int64_t count = segment.num_units * segment.length;
  return slot.detach()
      .as_strided({slot.numel()}, {1})
      .narrow(0, segment.begin, count)
      .view({segment.num_units, segment.length});
}

/// The numbers of a segment's units, of all: a view.
at::Tensor of_units(const at::Tensor& numbers, const Segment& segment) {
  return numbers.narrow(0, segment.first_unit, segment.num_units);
}

using Visit = std::function<void(const optim::ParamSlot& slot, const Segment& segment)>;

void for_each_segment(const std::vector<optim::ParamGroup>& groups, const Units& units,
                      const Visit& visit) {
  for (const optim::ParamGroup& group : groups) {
    for (const optim::ParamSlot& slot : group.slots) {
      for (const optim::ParamPiece& piece : slot.pieces) {
        for (const Segment& segment : units.segments(piece)) visit(slot, segment);
      }
    }
  }
}

}  // namespace

void clip_grad_adaptive(Strategy& strategy, const AdaptiveClipping& clipping) {
  const at::NoGradGuard no_grad;
  const std::vector<optim::ParamGroup> groups = strategy.param_groups();
  const optim::ParameterShards shards = strategy.parameter_shards();
  const Units units(shards);
  const at::Tensor squares =
      at::zeros({2, units.count()}, at::device(shards.device).dtype(at::kDouble));
  const at::Tensor of_weights = squares[0];
  const at::Tensor of_gradients = squares[1];
  for_each_segment(groups, units, [&](const optim::ParamSlot& slot, const Segment& segment) {
    of_units(of_weights, segment).add_(squares_of_rows(rows_of(slot.param, segment)));
    of_units(of_gradients, segment).add_(squares_of_rows(rows_of(slot.grad, segment)));
  });
  shards.sum(squares);
  const at::Tensor most = of_weights.sqrt().clamp_min_(clipping.floor).mul_(clipping.threshold);
  const at::Tensor norms = of_gradients.sqrt();
  const at::Tensor factors = at::where(norms.isfinite() & (norms > most), most / norms, 1.0);
  for_each_segment(groups, units, [&](const optim::ParamSlot& slot, const Segment& segment) {
    const at::Tensor rows = rows_of(slot.grad, segment);
    rows.mul_(of_units(factors, segment).unsqueeze(1).to(rows.scalar_type()));
  });
}

}  // namespace paceline::parallel
