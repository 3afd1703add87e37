#include "paceline/train/batch_feed.h"

#include <utility>

namespace paceline::train {

void BatchFeed::seek(std::int64_t position) {
  ahead_.reset();
  loader_.seek(position);
}

Batch BatchFeed::next() {
  Incoming incoming = ahead_ ? std::move(*ahead_) : fetch();
  ahead_.reset();
  std::vector<at::Tensor> tensors = incoming.transfer->take();
  incoming.batch.inputs = std::move(tensors[0]);
  incoming.batch.targets = std::move(tensors[1]);
  latest_ = std::move(incoming.transfer);
  return std::move(incoming.batch);
}

void BatchFeed::prefetch() {
  if (device_.is_queued() && !ahead_) ahead_ = fetch();
}

BatchFeed::Incoming BatchFeed::fetch() {
  Batch batch = wrap(loader_.next());
  std::vector<at::Tensor> host{std::move(batch.inputs), std::move(batch.targets)};
  auto transfer = device_.start_transfer(std::move(host));
  return {std::move(batch), std::move(transfer)};
}

}  // namespace paceline::train
