#pragma once

#include "paceline/base/error.h"
#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"

#include <string>
#include <vector>

namespace paceline::comm {

/// What rank `rank` holds: small integers, so that sums are exact in every dtype and order.
inline at::Tensor values_of(int rank, at::IntArrayRef shape, at::ScalarType dtype) {
  const std::int64_t numel = at::empty(shape).numel();
  return (at::arange(numel) * (rank + 2)).remainder(5).reshape(shape).to(dtype);
}

inline void check_equal(const at::Tensor& actual, const at::Tensor& expected, const char* what) {
  PACELINE_CHECK(actual.equal(expected), "{} of {} {} elements differs from LibTorch's arithmetic",
                 what, c10::toString(actual.scalar_type()), actual.numel());
}

inline void check_all_reduce(Communicator& communicator, at::IntArrayRef shape,
                             at::ScalarType dtype) {
  std::vector<at::Tensor> held;
  for (int rank = 0; rank < communicator.world_size(); ++rank) {
    held.push_back(values_of(rank, shape, dtype));
  }
  const at::Tensor all = at::stack(held);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax}) {
    const at::Tensor tensor = values_of(communicator.rank(), shape, dtype);
    communicator.all_reduce(tensor, op, "values")->wait();
    const at::Tensor expected = op == ReduceOp::kMin   ? all.amin(0)
                                : op == ReduceOp::kMax ? all.amax(0)
                                                       : all.sum(0).to(dtype);
    check_equal(tensor, expected, "all_reduce");
  }
}

inline void check_moves(Communicator& communicator, at::IntArrayRef shape, at::ScalarType dtype) {
  const int world_size = communicator.world_size();
  const at::Tensor own = values_of(communicator.rank(), shape, dtype);
  std::vector<at::Tensor> held;
  for (int rank = 0; rank < world_size; ++rank) {
    held.push_back(values_of(rank, shape, dtype).reshape({-1}));
    const at::Tensor tensor = own.clone();
    communicator.broadcast(tensor, rank)->wait();
    check_equal(tensor, values_of(rank, shape, dtype), "broadcast");
  }
  const at::Tensor gathered = at::empty({world_size * own.numel()}, own.options());
  communicator.all_gather(gathered, own)->wait();
  check_equal(gathered, at::cat(held), "all_gather");
}

inline void check_reduce_scatter(Communicator& communicator, std::int64_t slice,
                                 at::ScalarType dtype) {
  const int world_size = communicator.world_size();
  at::Tensor sum = at::zeros({world_size * slice}, dtype);
  for (int rank = 0; rank < world_size; ++rank) {
    sum += values_of(rank, {world_size * slice}, dtype);
  }
  const at::Tensor output = at::empty({slice}, dtype);
  communicator
      .reduce_scatter(output, values_of(communicator.rank(), {world_size * slice}, dtype), "slices")
      ->wait();
  check_equal(output, sum.slice(0, communicator.rank() * slice, (communicator.rank() + 1) * slice),
              "reduce_scatter");
}

/// Even and odd ranks, each with its own sums.
inline void check_split(Communicator& communicator) {
  const int color = communicator.rank() % 2;
  const int members = (communicator.world_size() + 1 - color) / 2;
  const auto part = communicator.split(color);
  PACELINE_CHECK(part->world_size() == members && part->rank() == communicator.rank() / 2,
                 "rank {} became {} of {}", communicator.rank(), part->rank(), part->world_size());
  const at::Tensor sum = at::full({3}, communicator.rank(), at::kDouble);
  part->all_reduce(sum, ReduceOp::kSum)->wait();
  check_equal(sum, at::full({3}, members * (members - 1) + color * members, at::kDouble),
              "all_reduce of a part");
}

/// Checks every collective, dtype and some shapes against LibTorch's own arithmetic. Every rank
/// calls it. Throws on the first difference.
inline void check_collectives(Communicator& communicator) {
  const std::vector<std::vector<std::int64_t>> shapes{{7, 3}, {}, {1025}};
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt,
                                     at::kLong, at::kByte, at::kBool}) {
    for (const auto& shape : shapes) {
      check_all_reduce(communicator, shape, dtype);
      check_moves(communicator, shape, dtype);
    }
    if (dtype != at::kBool) {
      check_reduce_scatter(communicator, 33, dtype);
    }
  }
  check_moves(communicator, {5, 2}, at::kShort);
  communicator.barrier();
  for (const std::string& text : communicator.all_gather_text("")) {
    PACELINE_CHECK(text.empty(), "all_gather_text made '{}' of nothing", text);
  }
  const std::vector<std::string> texts =
      communicator.all_gather_text(std::string(static_cast<std::size_t>(communicator.rank()), 'x'));
  for (int rank = 0; rank < communicator.world_size(); ++rank) {
    PACELINE_CHECK(
        texts.at(static_cast<std::size_t>(rank)).size() == static_cast<std::size_t>(rank),
        "all_gather_text gave '{}' for rank {}", fmt::join(texts, "', '"), rank);
  }
  check_split(communicator);
}

}  // namespace paceline::comm
