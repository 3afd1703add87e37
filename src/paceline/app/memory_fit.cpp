#include "paceline/app/memory_fit.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>
#include <memory>

#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
constexpr std::uint64_t kReserved = 1024 * kMebibyte;  // context, cuBLAS, cuDNN, NCCL
constexpr std::int64_t kMostSamples = 1 << 20;
constexpr std::uint64_t kBatchesThere = 2;  // the one at hand and the next

constexpr std::array kDevices{
    MemoryDevice{"a100-40gb", 40'337 * kMebibyte}, MemoryDevice{"a100-80gb", 81'038 * kMebibyte},
    MemoryDevice{"h100-80gb", 81'079 * kMebibyte}, MemoryDevice{"h200", 143'156 * kMebibyte},
    MemoryDevice{"b200", 182'642 * kMebibyte},     MemoryDevice{"l40s", 45'589 * kMebibyte},
    MemoryDevice{"rtx-4090", 24'082 * kMebibyte},  MemoryDevice{"t4", 15'102 * kMebibyte},
};

/// A recipe's need by the samples of a microbatch: state is the same for any.
struct NeedBySamples {
  std::uint64_t state = 0;
  std::uint64_t batch_per_sample = 0;
  std::uint64_t microbatches = 1;
  BytesBySamples activations;

  std::uint64_t of(std::int64_t samples) const {
    return state + activations(samples) +
           batch_per_sample * microbatches * static_cast<std::uint64_t>(samples);
  }
  /// The most samples for which it is enough: the need grows with them.
  std::int64_t largest(std::uint64_t bytes) const {
    std::int64_t fits = 0;
    std::int64_t too_many = 1;
    while (too_many <= kMostSamples && of(too_many) <= bytes) {
      fits = too_many;
      too_many *= 2;
    }
    while (too_many - fits > 1) {
      const std::int64_t middle = fits + (too_many - fits) / 2;
      (of(middle) <= bytes ? fits : too_many) = middle;
    }
    return fits;
  }
};

nn::SampleSizes sizes_of(std::span<const data::FieldSpec> fields) {
  nn::SampleSizes sizes;
  for (const data::FieldSpec& field : fields) sizes[field.name] = field.sizes;
  return sizes;
}

}  // namespace

std::uint64_t MemoryDevice::usable_bytes() const { return bytes - kReserved; }

std::span<const MemoryDevice> memory_devices() { return kDevices; }

const MemoryDevice& memory_device(std::string_view name) {
  const auto found = std::ranges::find(kDevices, name, &MemoryDevice::name);
  if (found != kDevices.end()) return *found;
  std::vector<std::string> names;
  for (const MemoryDevice& device : kDevices) names.emplace_back(device.name);
  throw base::ConfigError(
      fmt::format("--device {}: is not known; expected one of {}", name, base::join(names, ", ")));
}

MemoryFit fit_memory(const Recipe& given, const Registries& registries, MemoryQuestion question,
                     const MemoryDevice& device) {
  question.is_on_gpu = true;
  Recipe recipe = given;
  recipe.checkpoint.async = false;  // its copy lies in the host's memory
  MemoryFit fit{.need = estimate_memory(recipe, registries, question)};
  NeedBySamples need{.state = fit.need.total() - fit.need.activations - fit.need.input,
                     .batch_per_sample = kBatchesThere * data::sample_bytes(question.fields),
                     .microbatches = static_cast<std::uint64_t>(fit.need.batches.grad_accum_steps),
                     .activations = activations_by_samples(recipe, registries, question)};
  fit.need.input =
      need.batch_per_sample * static_cast<std::uint64_t>(fit.need.batches.samples_per_rank());
  const std::int64_t samples = fit.need.batches.microbatch();
  fit.per_sample = need.activations(samples + 1) - need.activations(samples);
  fit.largest = need.largest(device.usable_bytes());
  const auto task = make_task(recipe, registries);
  fit.forward_flops = task->network().flops_per_sample(sizes_of(question.fields));
  if (const auto* shaped = dynamic_cast<const train::ShapedTask*>(task.get()))
    fit.published = shaped->published();
  if (fit.published) fit.at_published_batch = need.of(fit.published->batch_per_rank);
  recipe.train.activation_checkpointing.emplace();
  need.activations = activations_by_samples(recipe, registries, question);
  fit.largest_again = need.largest(device.usable_bytes());
  return fit;
}

std::optional<double> measured_speed(const std::filesystem::path& run, const std::string& phase) {
  std::filesystem::path folder = run;
  for (const std::filesystem::path& candidate : phase_folders(run)) {
    if (candidate.filename().string().ends_with("-" + phase)) folder = candidate;
  }
  const std::filesystem::path file = folder / "summary.json";
  if (!std::filesystem::exists(file)) return std::nullopt;
  const nlohmann::json summary = base::parse_json(base::read_file(file));
  if (!summary.contains("speed")) return std::nullopt;
  const double ranks = summary.value("world_size", 1);
  for (const auto& [name, value] : summary.at("speed").items()) {
    if (name.ends_with("_per_s")) return value.get<double>() / ranks;
  }
  return std::nullopt;
}

}  // namespace paceline::app
