#include "paceline/nn/norm_passes/norm_passes.h"

#include "paceline/nn/norm_passes/norm_rows.h"
#include "paceline/tensor/intra_op.h"

#include <algorithm>
#include <functional>

namespace paceline::nn {
namespace {

constexpr std::int64_t kMaxChunks = 16;  // of rows, whose sums are separate until the end
constexpr std::int64_t kFewestValues = 2048;
constexpr std::int64_t kThreadedValues = 1
                                         << 17;  // values, below which waking threads takes longer

ChannelRows rows_of(const at::Tensor& images) {
  return {images.numel() / images.size(1), images.size(1)};
}

/// Images cut into chunks of rows, by their sizes alone.
class RowChunks {
 public:
  explicit RowChunks(const ChannelRows& size) : size_(size) {
    const std::int64_t fewest = (kFewestValues + size.channels - 1) / size.channels;
    const std::int64_t length = std::max(fewest, (size.rows + kMaxChunks - 1) / kMaxChunks);
    length_ = (length + 3) / 4 * 4;
  }

  std::int64_t count() const { return (size_.rows + length_ - 1) / length_; }
  std::int64_t rows(std::int64_t chunk) const {
    return std::min(length_, size_.rows - chunk * length_);
  }

  /// Calls `work` with each chunk, its first value's place and its size, on several threads.
  void run(const std::function<void(std::int64_t, std::int64_t, const ChannelRows&)>& work) const {
    const auto run_one = [&](std::int64_t chunk) {
      work(chunk, chunk * length_ * size_.channels, {rows(chunk), size_.channels});
    };
    if (size_.rows * size_.channels >= kThreadedValues)
      return tensor::run_intra_op(count(), run_one);
    for (std::int64_t chunk = 0; chunk < count(); ++chunk) run_one(chunk);
  }

 private:
  ChannelRows size_;
  std::int64_t length_;
};

NormFactors pointers_to(const at::Tensor& factors) {
  const auto* const first = factors.const_data_ptr<float>();
  const std::int64_t channels = factors.size(1);
  return {.mean = first + kNormMean * channels,
          .scale = first + kNormScale * channels,
          .shift = first + kNormShift * channels};
}

/// Chunks' sums, [chunks, 2, channels].
class ChunkSums {
 public:
  ChunkSums(std::int64_t chunks, std::int64_t channels)
      : chunks_(chunks),
        channels_(channels),
        values_(static_cast<std::size_t>(chunks * 2 * channels)) {}

  float* first(std::int64_t chunk) {
    return values_.data() + static_cast<std::size_t>(chunk * 2 * channels_);
  }
  float* second(std::int64_t chunk) { return first(chunk) + channels_; }
  double total(std::int64_t which, std::int64_t channel) const {
    double sum = 0.0;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
      sum += values_[static_cast<std::size_t>((2 * chunk + which) * channels_ + channel)];
    return sum;
  }

 private:
  std::int64_t chunks_;
  std::int64_t channels_;
  std::vector<float> values_;
};

/// The gradients of weight and bias, and what comes from the statistics into that of the images,
/// [2, C].
at::Tensor finish_sums(const ChunkSums& sums, std::int64_t rows, const at::Tensor& factors,
                       NormGradients& grads) {
  const std::int64_t channels = factors.size(1);
  grads.weight = at::empty({channels}, factors.options());
  grads.bias = at::empty({channels}, factors.options());
  at::Tensor means = at::empty({2, channels}, factors.options());
  const auto* const rstd = factors.const_data_ptr<float>() + kNormRstd * channels;
  const auto* const scale = factors.const_data_ptr<float>() + kNormScale * channels;
  auto* const weight = grads.weight.mutable_data_ptr<float>();
  auto* const bias = grads.bias.mutable_data_ptr<float>();
  auto* const to = means.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < channels; ++i) {
    const double plain = sums.total(0, i);
    const double product = sums.total(1, i) * rstd[i];
    bias[i] = static_cast<float>(plain);
    weight[i] = static_cast<float>(product);
    const double share = scale[i] / static_cast<double>(rows);
    to[i] = static_cast<float>(plain * share);
    to[channels + i] = static_cast<float>(product * share * rstd[i]);
  }
  return means;
}

/// Whether the gradient of what the activation saw is kept rather than computed again.
bool is_dear(Activation activation) { return activation == Activation::kSilu; }

}  // namespace

BatchMoments batch_moments(const at::Tensor& images) {
  const ChannelRows size = rows_of(images);
  const RowChunks chunks(size);
  ChunkSums found(chunks.count(), size.channels);
  const auto* const x = images.const_data_ptr<float>();
  chunks.run([&](std::int64_t chunk, std::int64_t offset, const ChannelRows& part) {
    norm_moments(x + offset, x, part, found.first(chunk), found.second(chunk));
  });
  BatchMoments moments;
  moments.means.resize(static_cast<std::size_t>(size.channels));
  moments.variances.resize(moments.means.size());
  for (std::size_t i = 0; i < moments.means.size(); ++i) {
    double mean = 0.0;
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk)
      mean += static_cast<double>(chunks.rows(chunk)) * found.first(chunk)[i];
    mean /= static_cast<double>(size.rows);
    double squares = 0.0;
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
      const double apart = found.first(chunk)[i] - mean;
      squares += found.second(chunk)[i] + static_cast<double>(chunks.rows(chunk)) * apart * apart;
    }
    moments.means[i] = x[i] + mean;
    moments.variances[i] = squares / static_cast<double>(size.rows);
  }
  return moments;
}

at::Tensor normalise_images(const at::Tensor& images, const at::Tensor& factors,
                            Activation activation, const at::Tensor& added) {
  at::Tensor output = at::empty_like(images);
  const auto* const x = images.const_data_ptr<float>();
  const auto* const other = added.defined() ? added.const_data_ptr<float>() : nullptr;
  auto* const to = output.mutable_data_ptr<float>();
  const NormFactors pointers = pointers_to(factors);
  RowChunks(rows_of(images))
      .run([&](std::int64_t /*chunk*/, std::int64_t offset, const ChannelRows& part) {
        norm_forward(x + offset, other == nullptr ? nullptr : other + offset, part, pointers,
                     activation, to + offset);
      });
  return output;
}

NormGradients normalise_images_backward(const at::Tensor& grad, const at::Tensor& images,
                                        const at::Tensor& output, const at::Tensor& factors,
                                        Activation activation) {
  NormGradients grads;
  grads.images = at::empty_like(images);
  if (output.defined()) grads.inner = at::empty_like(images);
  const auto* const outer = grad.const_data_ptr<float>();
  const auto* const x = images.const_data_ptr<float>();
  const auto* const results = output.defined() ? output.const_data_ptr<float>() : nullptr;
  auto* const to = grads.images.mutable_data_ptr<float>();
  // Where it is not kept, the second pass is told by the activation to make it again.
  float* kept = is_dear(activation) ? to : nullptr;
  if (output.defined()) kept = grads.inner.mutable_data_ptr<float>();
  const NormFactors pointers = pointers_to(factors);
  const ChannelRows size = rows_of(images);
  const RowChunks chunks(size);
  ChunkSums sums(chunks.count(), size.channels);
  chunks.run([&](std::int64_t chunk, std::int64_t offset, const ChannelRows& part) {
    norm_gradient_sums(
        {outer + offset, x + offset, results != nullptr ? results + offset : nullptr}, part,
        pointers, activation, sums.first(chunk), sums.second(chunk),
        kept == nullptr ? nullptr : kept + offset);
  });
  const at::Tensor means = finish_sums(sums, size.rows, factors, grads);
  const auto* const mean_data = means.const_data_ptr<float>();
  chunks.run([&](std::int64_t /*chunk*/, std::int64_t offset, const ChannelRows& part) {
    norm_gradient(kept == nullptr ? outer + offset : kept + offset, x + offset, part, pointers,
                  {mean_data, mean_data + size.channels},
                  kept == nullptr ? activation : Activation::kNone, to + offset);
  });
  return grads;
}

}  // namespace paceline::nn
