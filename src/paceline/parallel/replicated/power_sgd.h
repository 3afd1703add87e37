#pragma once

#include "paceline/parallel/replicated/gradient_compression.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <string>

namespace paceline::parallel {

/// PowerSGD: the sum over ranks of the gradient M [n, m] of a matrix is taken to be P Q^T of a low
/// rank r; (n + m) r numbers are sent for n m. Paper: Vogels et al., NeurIPS 2019.
///
/// What P Q^T leaves out is added to the next step's gradient (error feedback), and each step
/// starts from the last one's Q. A kernel is a matrix of its slowest dimension by all others.
/// Tensors for which that saves less than half, and all in the first `start` sums, are sent as they
/// are.
///
/// A step with gradients that are not finite keeps Q and drops the error of the buckets they are
/// in.
///
/// Every rank multiplies matrices for itself: ranks of unlike processors may differ in the last
/// bits.
class PowerSgd final : public GradientCompression {
 public:
  PowerSgd(int rank, std::int64_t start, const tensor::Arena& gradients,
           comm::Communicator& communicator);

  std::unique_ptr<comm::Work> all_reduce(std::size_t bucket) override;
  /// The errors ("compression.error/<parameter>", of each rank its own), the Qs
  /// ("compression.q/<parameter>") and the number of sums so far ("compression.num_sums").
  std::vector<tensor::StateShard> state() override;

 private:
  class BucketWork;

  struct Matrix {
    std::string name;
    at::Tensor gradient;  // [n, m], in the arena
    at::Tensor error;     // [n, m]; once the gradient is added, what is to be summed
    at::Tensor q;         // [m, r]
    at::Tensor sent_p;    // [n, r], in the bucket's `first`
    at::Tensor sent_q;    // [m, r], in the bucket's `second`
  };
  struct Bucket {
    std::vector<Matrix> matrices;
    std::vector<at::Tensor> plain;       // [k], in the arena
    std::vector<at::Tensor> sent_plain;  // [k], in `first`
    at::Tensor first;                    // what is sent first: all of plain and of P
    at::Tensor second;                   // then all of Q
    std::unique_ptr<comm::Work> in_flight;
  };

  Bucket lay_out(std::size_t bucket) const;
  std::int64_t compressed_rank(const tensor::FlatSlot& slot) const;
  Matrix make_matrix(std::size_t slot, std::int64_t rank, const at::Tensor& whole) const;
  void start_first(Bucket& bucket);
  void start_second(Bucket& bucket);
  void finish(std::size_t bucket);
  void decompress(Bucket& bucket) const;

  std::int64_t rank_;
  std::int64_t start_;
  const tensor::Arena& gradients_;
  comm::Communicator& communicator_;
  std::vector<Bucket> buckets_;
  at::Tensor num_sums_;  // [1], int64
  bool is_second_started_ = false;
};

}  // namespace paceline::parallel
