#include "paceline/train/batch/batch_feed.h"

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/comm/agreement.h"

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
  auto on_device = tensors.begin();
  for (auto& [name, field] : incoming.batch.fields) field = std::move(*on_device++);
  if (incoming.bytes) {
    at::Tensor& images = incoming.batch.fields.at(kImages);
    images = incoming.bytes->to_floats(images, *on_device);
  }
  latest_ = std::move(incoming.transfer);
  return std::move(incoming.batch);
}

std::optional<Batch> BatchFeed::next_unless_stopped() {
  try {
    return next();
  } catch (const base::Interrupted& stop) {
    base::log_info("{}", stop.what());
    return std::nullopt;
  }
}

std::optional<Batch> BatchFeed::next_of_all(comm::Communicator& communicator, bool may_lack) {
  std::optional<Batch> batch = next_unless_stopped();
  if (may_lack && comm::any_rank(communicator, !batch)) return std::nullopt;
  PACELINE_CHECK(batch.has_value(), "a batch at hand was not given");
  return batch;
}

void BatchFeed::prefetch() {
  if (!device_.is_asynchronous() || ahead_) return;
  try {
    ahead_ = fetch();
  } catch (const base::Interrupted&) {
    // The step at hand goes on; next() throws the same.
  }
}

BatchFeed::Incoming BatchFeed::fetch() {
  auto loaded = loader_.next();
  Incoming incoming;
  if (loaded->byte_pixels) incoming.bytes.emplace(*loaded, device_);
  incoming.batch = wrap(std::move(loaded));
  std::vector<at::Tensor> host;
  for (auto& [name, field] : incoming.batch.fields) host.push_back(std::move(field));
  if (incoming.bytes) host.push_back(incoming.bytes->parameters());
  incoming.transfer = device_.start_transfer(std::move(host));
  return incoming;
}

}  // namespace paceline::train
