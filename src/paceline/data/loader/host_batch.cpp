#include "paceline/data/loader/host_batch.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::data {
namespace {

std::size_t aligned_bytes(const FieldSpec& field, std::int64_t count) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t bytes = static_cast<std::size_t>(count) * sample_bytes(field);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

const HostField& HostBatch::at(std::string_view name) const {
  const auto found =
      std::ranges::find_if(fields, [&](const HostField& field) { return field.spec.name == name; });
  PACELINE_CHECK(found != fields.end(), "a batch has no field '{}'", name);
  return *found;
}

std::size_t batch_bytes(const std::vector<FieldSpec>& fields, std::int64_t count) {
  std::size_t bytes = 0;
  for (const FieldSpec& field : fields) bytes += aligned_bytes(field, count);
  return bytes;
}

std::vector<HostField> lay_out(const std::vector<FieldSpec>& fields, std::int64_t count,
                               const std::shared_ptr<void>& memory) {
  std::vector<HostField> placed;
  auto* next = static_cast<std::byte*>(memory.get());
  for (const FieldSpec& field : fields) {
    placed.push_back({field, std::shared_ptr<std::byte>(memory, next), sample_bytes(field)});
    next += aligned_bytes(field, count);
  }
  return placed;
}

void remove_samples(HostBatch& batch, std::span<const std::int64_t> places) {
  std::int64_t kept = 0;
  auto next_gap = places.begin();
  for (std::int64_t i = 0; i < batch.count; ++i) {
    if (next_gap != places.end() && *next_gap == i) {
      ++next_gap;
      continue;
    }
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(kept);
    if (kept != i) {
      for (const HostField& field : batch.fields)
        std::copy(field.sample(i), field.sample(i + 1), field.sample(kept));
      batch.indices[to] = batch.indices[from];
      if (!batch.erased.empty()) batch.erased[to] = batch.erased[from];
    }
    ++kept;
  }
  batch.indices.resize(static_cast<std::size_t>(kept));
  if (!batch.erased.empty()) batch.erased.resize(static_cast<std::size_t>(kept));
  batch.count = kept;
}

}  // namespace paceline::data
