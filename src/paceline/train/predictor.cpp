#include "paceline/train/predictor.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/comm/agreement.h"
#include "paceline/tensor/autocast.h"
#include "paceline/train/batch/batch_feed.h"
#include "paceline/train/evaluation_scope.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

constexpr std::string_view kIndexField = "sample index";

/// A field without its samples.
struct FieldShape {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> sizes;  ///< of one sample
  bool operator==(const FieldShape&) const = default;

  std::int64_t sample_bytes() const {
    return c10::multiply_integers(sizes) * static_cast<std::int64_t>(c10::elementSize(dtype));
  }
};

std::vector<FieldShape> shapes_of(const tensor::Fields& fields) {
  std::vector<FieldShape> shapes;
  for (const auto& [name, tensor] : fields)
    shapes.push_back({name, tensor.scalar_type(), tensor.sizes().slice(1).vec()});
  return shapes;
}

std::string to_text(const std::vector<FieldShape>& shapes) {
  auto json = nlohmann::json::array();
  for (const FieldShape& shape : shapes)
    json.push_back({shape.name, static_cast<int>(shape.dtype), shape.sizes});
  return json.dump();
}

std::vector<FieldShape> shapes_from(const std::string& text) {
  std::vector<FieldShape> shapes;
  for (const nlohmann::json& json : base::parse_json(text)) {
    shapes.push_back({json.at(0).get<std::string>(),
                      static_cast<at::ScalarType>(json.at(1).get<int>()),
                      json.at(2).get<std::vector<std::int64_t>>()});
  }
  return shapes;
}

/// What a rank tells the others of its share of a batch.
struct Share {
  std::int64_t size = 0;
  std::int64_t first_position = 0;
  std::int64_t num_skipped = 0;
  std::int64_t is_stopped = 0;
};

/// Ranks by the place of their samples in the batch.
std::vector<std::size_t> ranks_in_order(const std::vector<Share>& shares) {
  std::vector<std::size_t> ranks(shares.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::ranges::stable_sort(ranks, {}, [&](auto rank) { return shares[rank].first_position; });
  return ranks;
}

std::vector<Share> shares_of_ranks(const Share& own, const RunContext& run) {
  const std::int64_t count = run.communicator.world_size();
  if (count == 1) return {own};
  const at::Tensor mine = at::tensor(
      std::vector<std::int64_t>{own.size, own.first_position, own.num_skipped, own.is_stopped},
      at::kLong);
  const at::Tensor all = at::empty({count, mine.numel()}, at::kLong);
  run.communicator.all_gather(all, mine, "shares of a batch")->wait();
  std::vector<Share> shares;
  const auto* const values = all.const_data_ptr<std::int64_t>();
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const auto* const of_rank = values + rank * mine.numel();
    shares.push_back({of_rank[0], of_rank[1], of_rank[2], of_rank[3]});
  }
  return shares;
}

/// What the ranks could not read of a batch, in the order of its samples.
std::vector<std::string> skipped_of_ranks(const std::vector<std::string>& own,
                                          const std::vector<Share>& shares,
                                          comm::Communicator& communicator) {
  if (std::ranges::all_of(shares, [](const Share& share) { return share.num_skipped == 0; }))
    return {};
  const auto texts = communicator.all_gather_text(nlohmann::json(own).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace));  // a path may have any bytes
  std::vector<std::string> all;
  for (const std::size_t rank : ranks_in_order(shares)) {
    const auto of_rank = base::parse_json(texts[rank]).get<std::vector<std::string>>();
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  }
  return all;
}

/// Brings what ranks have of a batch together on rank 0.
class Gathering {
 public:
  explicit Gathering(const RunContext& run) : run_(run) {}

  /// `own` has no fields on a rank whose share is empty; some share is not. Every rank must call
  /// it; rank 0 gets the samples of all in their order.
  Predictions gather(const tensor::Fields& own, const std::vector<std::int64_t>& indices,
                     const std::vector<Share>& shares) {
    tensor::Fields fields = own;
    if (!indices.empty()) fields.set(kIndexField, at::tensor(indices, at::kLong));
    agree_on_shapes(fields);
    tensor::Fields all;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const at::Tensor* const mine = fields.empty() ? nullptr : &(fields.begin() + i)->tensor;
      all.set(shapes_[i].name, gather_field(shapes_[i], mine, shares));
    }
    Predictions predictions;
    if (!run_.is_main_rank()) return predictions;
    for (const auto& [name, tensor] : all) {
      if (name != kIndexField) predictions.fields.set(name, tensor);
    }
    const at::Tensor& numbers = all.at(kIndexField);
    const auto* const first = numbers.const_data_ptr<std::int64_t>();
    predictions.indices.assign(first, first + numbers.numel());
    return predictions;
  }

 private:
  /// A rank without samples learns from the others what fields there are.
  void agree_on_shapes(const tensor::Fields& fields) {
    const std::vector<FieldShape> own = shapes_of(fields);
    if (shapes_.empty()) {
      for (const std::string& text :
           run_.communicator.all_gather_text(fields.empty() ? "" : to_text(own))) {
        if (text.empty()) continue;
        std::vector<FieldShape> theirs = shapes_from(text);
        PACELINE_CHECK(shapes_.empty() || shapes_ == theirs,
                       "the task gives out other fields on some ranks than on others");
        shapes_ = std::move(theirs);
      }
    }
    const bool is_other = !fields.empty() && own != shapes_;
    PACELINE_CHECK(!comm::any_rank(run_.communicator, is_other),
                   "the task gives out fields of another type or size than for the first batch");
  }

  at::Tensor gather_field(const FieldShape& shape, const at::Tensor* mine,
                          const std::vector<Share>& shares) const {
    const std::int64_t row = shape.sample_bytes();
    const std::int64_t most = std::ranges::max(shares, {}, &Share::size).size;
    const at::Device place = run_.device.place();
    const at::Tensor padded = at::zeros({most * row}, at::TensorOptions(at::kByte).device(place));
    if (mine != nullptr) {
      const at::Tensor bytes = mine->to(place).contiguous().flatten().view(at::kByte);
      padded.narrow(0, 0, bytes.numel()).copy_(bytes);
    }
    const auto count = std::ssize(shares);
    at::Tensor all = padded;
    if (count > 1) {
      all = at::empty({count * most * row}, padded.options());
      run_.communicator.all_gather(all, padded, shape.name)->wait();
    }
    if (!run_.is_main_rank()) return all;
    return in_order(all.to(at::kCPU).view({count, most * row}), shape, shares);
  }

  static at::Tensor in_order(const at::Tensor& of_ranks, const FieldShape& shape,
                             const std::vector<Share>& shares) {
    std::vector<at::Tensor> parts;
    std::int64_t num_samples = 0;
    for (const std::size_t rank : ranks_in_order(shares)) {
      parts.push_back(of_ranks[static_cast<std::int64_t>(rank)].narrow(
          0, 0, shares[rank].size * shape.sample_bytes()));
      num_samples += shares[rank].size;
    }
    std::vector<std::int64_t> sizes{num_samples};
    sizes.insert(sizes.end(), shape.sizes.begin(), shape.sizes.end());
    return at::cat(parts).view(shape.dtype).view(sizes);
  }

  const RunContext& run_;
  std::vector<FieldShape> shapes_;  ///< once some rank had samples
};

/// What the work throws, or null.
template <typename Work>
std::exception_ptr failure_of(const Work& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// As numpy and readers of its files know it.
at::Tensor plain(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? tensor.to(at::kFloat) : tensor;
}

}  // namespace

tensor::Fields Predictor::given_out(Task& task, const Batch& batch,
                                    const nn::ForwardContext& context) const {
  tensor::Fields fields = task.predict(batch, context);
  for (const std::string& name : inputs_) {
    const at::Tensor* const input = batch.fields.find(name);
    if (input == nullptr) continue;
    PACELINE_CHECK(!fields.contains(name), "the task gives out '{}', as a field of its inputs is",
                   name);
    fields.set(name, *input);
  }
  return fields.map(plain);
}

bool Predictor::run(Task& task, parallel::Strategy& strategy, Precision precision,
                    std::int64_t step, const RunContext& run, const Take& take) {
  const at::NoGradGuard no_grad;
  const EvaluationScope scope(task);
  BatchFeed feed(loader_, run.device);
  feed.seek(0);
  Gathering gathering(run);
  SkipLimit skips(max_skipped_);
  std::int64_t num_skipped = 0;
  std::exception_ptr failure;  // of `take`: the other ranks learn of it with the next batch
  bool is_stopped = false;
  strategy.begin_evaluation(task.evaluates_freely());
  const std::int64_t num_batches =
      std::min(loader_.batches_per_epoch(), max_batches_.value_or(loader_.batches_per_epoch()));
  // Around all batches: weights do not change, so each is cast once.
  const tensor::AutocastGuard autocast(run.device.place().type(), autocast_dtype(precision));
  for (std::int64_t number = 0; number < num_batches && !is_stopped; ++number) {
    std::optional<Batch> batch = feed.next_unless_stopped();
    Share share{.is_stopped = !batch || failure || run.received_signal.load() != 0};
    tensor::Fields own;
    if (batch) {
      skips.add(batch->skipped);
      share.num_skipped = std::ssize(batch->skipped);
      share.size = batch->size;
      share.first_position = batch->first_position;
    }
    if (share.size > 0) {
      batch = with_floats_as(*std::move(batch), storage_dtype(precision));
      own = given_out(task, *batch, {run.seed, step, batch->first_position});
    } else {
      strategy.forward_nothing();
    }
    const std::vector<Share> shares = shares_of_ranks(share, run);
    for (const Share& each : shares) num_skipped += each.num_skipped;
    is_stopped = std::ranges::any_of(shares, &Share::is_stopped);
    if (is_stopped) continue;
    auto skipped = skipped_of_ranks(batch->skipped, shares, run.communicator);
    Predictions predictions;
    if (std::ranges::max(shares, {}, &Share::size).size > 0)
      predictions = gathering.gather(own, batch->indices, shares);
    predictions.skipped = std::move(skipped);
    if (run.is_main_rank() && !failure) failure = failure_of([&] { take(predictions); });
  }
  strategy.end_evaluation();
  comm::first_rank_decides(run.communicator, [&] {
    if (failure) std::rethrow_exception(failure);
    return "";
  });
  skips.check(num_skipped, "the data to predict", run.communicator);
  return !is_stopped;
}

}  // namespace paceline::train
