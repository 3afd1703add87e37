#include "paceline/parallel/replicated/power_sgd.h"

#include "paceline/tensor/draws.h"
#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace paceline::parallel {
namespace {

constexpr std::int64_t kLeastSaving = 2;  // times fewer numbers

std::int64_t num_rows(const tensor::TensorSpec& spec) {
  if (spec.sizes.empty()) return 1;
  const tensor::ElementOrder order = tensor::memory_order(spec.sizes, spec.strides);
  return spec.sizes[order.empty() ? 0 : static_cast<std::size_t>(order.front())];
}

/// Makes the columns orthonormal, in place, by Gram and Schmidt; one of zeros stays so.
void orthonormalise(const at::Tensor& matrix) {
  for (std::int64_t i = 0; i < matrix.size(1); ++i) {
    const at::Tensor column = matrix.select(1, i);
    column.div_(column.norm().clamp_min(std::numeric_limits<float>::min()));
    const at::Tensor rest = matrix.narrow(1, i + 1, matrix.size(1) - i - 1);
    rest.sub_(at::outer(column, at::mv(rest.t(), column)));
  }
}

/// Cuts `flat` into views of the given sizes, one behind the other.
class Cutter {
 public:
  explicit Cutter(at::Tensor flat) : flat_(std::move(flat)) {}
  at::Tensor next(at::IntArrayRef sizes) {
    const std::int64_t numel = c10::multiply_integers(sizes);
    const std::int64_t begin = std::exchange(offset_, offset_ + numel);
    return flat_.narrow(0, begin, numel).view(sizes);
  }

 private:
  at::Tensor flat_;
  std::int64_t offset_ = 0;
};

}  // namespace

class PowerSgd::BucketWork final : public comm::Work {
 public:
  BucketWork(PowerSgd& owner, std::size_t bucket) : owner_(owner), bucket_(bucket) {}
  void wait() override { owner_.finish(bucket_); }

 private:
  PowerSgd& owner_;
  std::size_t bucket_;
};

PowerSgd::PowerSgd(int rank, std::int64_t start, const tensor::Arena& gradients,
                   comm::Communicator& communicator)
    : rank_(rank),
      start_(start),
      gradients_(gradients),
      communicator_(communicator),
      num_sums_(at::zeros({1}, at::kLong)) {
  for (std::size_t i = 0; i < gradients.layout().buckets.size(); ++i) {
    buckets_.push_back(lay_out(i));
  }
}

PowerSgd::Bucket PowerSgd::lay_out(std::size_t number) const {
  const at::Tensor flat = gradients_.flats()[gradients_.flat_of(number)];
  Bucket bucket;
  const std::vector<tensor::FlatSlot>& slots = gradients_.layout().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (static_cast<std::size_t>(slots[i].bucket) != number) continue;
    const at::Tensor whole = flat.narrow(0, slots[i].offset, slots[i].numel);
    if (const std::int64_t rank = compressed_rank(slots[i]); rank > 0) {
      bucket.matrices.push_back(make_matrix(i, rank, whole));
    } else {
      bucket.plain.push_back(whole);
    }
  }
  std::int64_t first = 0;
  std::int64_t second = 0;
  for (const at::Tensor& part : bucket.plain) first += part.numel();
  for (const Matrix& matrix : bucket.matrices) {
    first += matrix.gradient.size(0) * matrix.q.size(1);
    second += matrix.q.numel();
  }
  bucket.first = at::empty({first}, flat.options());
  bucket.second = at::empty({second}, flat.options());
  Cutter of_first(bucket.first);
  Cutter of_second(bucket.second);
  for (const at::Tensor& part : bucket.plain) {
    bucket.sent_plain.push_back(of_first.next(part.sizes()));
  }
  for (Matrix& matrix : bucket.matrices) {
    matrix.sent_p = of_first.next({matrix.gradient.size(0), matrix.q.size(1)});
    matrix.sent_q = of_second.next(matrix.q.sizes());
  }
  return bucket;
}

/// Of the slot's P and Q; 0 if it is sent as it is.
std::int64_t PowerSgd::compressed_rank(const tensor::FlatSlot& slot) const {
  if (slot.numel == 0 || (slot.spec.dtype != "float32" && slot.spec.dtype != "float64")) return 0;
  const std::int64_t rows = num_rows(slot.spec);
  const std::int64_t columns = slot.numel / rows;
  const std::int64_t rank = std::min({rank_, rows, columns});
  return (rows + columns) * rank * kLeastSaving < slot.numel ? rank : 0;
}

PowerSgd::Matrix PowerSgd::make_matrix(std::size_t slot, std::int64_t rank,
                                       const at::Tensor& whole) const {
  const tensor::TensorSpec& spec = gradients_.layout().slots[slot].spec;
  Matrix matrix;
  matrix.name = spec.name;
  matrix.gradient = whole.view({num_rows(spec), -1});
  matrix.error = at::zeros_like(matrix.gradient);
  const at::Tensor draws =
      at::empty({matrix.gradient.size(1), rank}, whole.options().device(at::kCPU));
  tensor::fill_normal(draws, 0.0, 1.0,
                      {.purpose = base::DrawPurpose::kGradientCompression, .index = slot});
  matrix.q = draws.to(whole.device());
  return matrix;
}

std::unique_ptr<comm::Work> PowerSgd::all_reduce(std::size_t number) {
  const at::NoGradGuard no_grad;
  std::int64_t& num_sums = *num_sums_.mutable_data_ptr<std::int64_t>();
  const bool is_plain = num_sums < start_ || buckets_[number].matrices.empty();
  is_second_started_ = false;
  std::unique_ptr<comm::Work> work;
  if (is_plain) {
    work = communicator_.all_reduce(gradients_.bucket(number), comm::ReduceOp::kSum);
  } else {
    start_first(buckets_[number]);
    work = std::make_unique<BucketWork>(*this, number);
  }
  if (number + 1 == buckets_.size()) ++num_sums;
  return work;
}

void PowerSgd::start_first(Bucket& bucket) {
  for (Matrix& matrix : bucket.matrices) {
    matrix.error.add_(matrix.gradient);
    orthonormalise(matrix.q);
    at::mm_out(matrix.sent_p, matrix.error, matrix.q);
  }
  for (std::size_t i = 0; i < bucket.plain.size(); ++i) {
    bucket.sent_plain[i].copy_(bucket.plain[i]);
  }
  bucket.in_flight = communicator_.all_reduce(bucket.first, comm::ReduceOp::kSum);
}

void PowerSgd::start_second(Bucket& bucket) {
  bucket.in_flight->wait();
  for (std::size_t i = 0; i < bucket.plain.size(); ++i) {
    bucket.plain[i].copy_(bucket.sent_plain[i]);
  }
  for (Matrix& matrix : bucket.matrices) {
    orthonormalise(matrix.sent_p);
    at::mm_out(matrix.sent_q, matrix.error.t(), matrix.sent_p);
  }
  bucket.in_flight = communicator_.all_reduce(bucket.second, comm::ReduceOp::kSum);
}

void PowerSgd::finish(std::size_t number) {
  const at::NoGradGuard no_grad;
  // All at once: the Qs of one bucket are computed while those of others are on their way.
  if (!std::exchange(is_second_started_, true)) {
    for (Bucket& bucket : buckets_) {
      if (bucket.in_flight) start_second(bucket);
    }
  }
  std::exchange(buckets_[number].in_flight, nullptr)->wait();
  decompress(buckets_[number]);
}

void PowerSgd::decompress(Bucket& bucket) const {
  // Nothing is read back: a GPU goes on without the host.
  const at::Tensor is_broken = bucket.second.isfinite().all().logical_not_();
  for (Matrix& matrix : bucket.matrices) {
    at::mm_out(matrix.gradient, matrix.sent_p, matrix.sent_q.t());
    matrix.error.sub_(matrix.gradient, 1.0 / communicator_.world_size())
        .masked_fill_(is_broken, 0.0);
    // From a column of zeros nothing would ever come back.
    const at::Tensor stays = matrix.sent_q.eq(0).all(0).logical_or_(is_broken);
    matrix.q.copy_(at::where(stays, matrix.q, matrix.sent_q));
  }
}

std::vector<tensor::StateShard> PowerSgd::state() {
  const int rank = communicator_.rank();
  const int world_size = communicator_.world_size();
  std::vector<tensor::StateShard> shards;
  const auto add_whole = [&](std::string name, const at::Tensor& data) {
    shards.push_back({.name = std::move(name),
                      .data = data,
                      .shape = data.sizes().vec(),
                      .end = data.numel(),
                      .is_writer = rank == 0});
  };
  add_whole("compression.num_sums", num_sums_);
  for (const Bucket& bucket : buckets_) {
    for (const Matrix& matrix : bucket.matrices) {
      add_whole("compression.q/" + matrix.name, matrix.q);
      shards.push_back({.name = "compression.error/" + matrix.name,
                        .data = matrix.error.view({-1}),
                        .shape = {world_size, matrix.error.size(0), matrix.error.size(1)},
                        .begin = rank * matrix.error.numel(),
                        .end = (rank + 1) * matrix.error.numel(),
                        .is_per_rank = true});
    }
  }
  return shards;
}

}  // namespace paceline::parallel
