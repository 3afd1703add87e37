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
  incoming.batch.inputs =
      incoming.bytes ? incoming.bytes->to_floats(tensors[0], tensors[2]) : std::move(tensors[0]);
  incoming.batch.targets = std::move(tensors[1]);
  latest_ = std::move(incoming.transfer);
  return std::move(incoming.batch);
}

void BatchFeed::prefetch() {
  if (device_.is_queued() && !ahead_) ahead_ = fetch();
}

BatchFeed::Incoming BatchFeed::fetch() {
  auto loaded = loader_.next();
  Incoming incoming;
  if (loaded->form == data::PixelForm::kBytes) incoming.bytes.emplace(*loaded, device_);
  incoming.batch = wrap(std::move(loaded));
  std::vector<at::Tensor> host{std::move(incoming.batch.inputs), std::move(incoming.batch.targets)};
  if (incoming.bytes) host.push_back(incoming.bytes->parameters());
  incoming.transfer = device_.start_transfer(std::move(host));
  return incoming;
}

}  // namespace paceline::train
