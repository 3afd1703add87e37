#include "paceline/app/out_of_memory.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/memory_report.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/tensor/torch.h"

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>

namespace paceline::app {
namespace {

constexpr std::size_t kReservedBytes = std::size_t{256} << 20;

/// A setting that needs less memory.
struct Cure {
  std::string setting;
  Recipe recipe;
};

std::vector<Cure> cures(const Recipe& recipe, const MemoryQuestion& question,
                        const MemoryEstimate& need) {
  std::vector<Cure> found;
  const auto add = [&](std::string setting) -> Recipe& {
    found.push_back({std::move(setting), recipe});
    return found.back().recipe;
  };
  if (!recipe.train.activation_checkpointing)
    add("train.activation_checkpointing={every: 1}").train.activation_checkpointing.emplace();
  if (question.world_size > 1 && !gathers_blocks(recipe.parallel.strategy))
    add("parallel.strategy=fsdp").parallel.strategy = ParallelStrategy::kFsdp;
  if (recipe.train.precision == train::Precision::kFloat32)
    add("train.precision=bf16").train.precision = train::Precision::kBFloat16;
  if (need.optimizer > need.gradients + need.gradients / 2)
    add("optimizer=sgd").optimizer = config::Component::of("sgd", optim::SgdConfig{});
  return found;
}

/// Smaller microbatches until the run fits, or one image each.
Cure smaller_microbatches(const Recipe& recipe, const MemoryEstimate& need,
                          const BytesBySamples& activations, std::uint64_t limit) {
  Cure cure{"", recipe};
  MemoryEstimate smaller = need;
  int& steps = smaller.batches.grad_accum_steps;
  do {
    steps *= 2;
    smaller.activations = activations(smaller.batches.microbatch());
  } while (smaller.total() > limit && smaller.batches.microbatch() > 1);
  cure.setting = fmt::format("train.grad_accum_steps={}", steps);
  cure.recipe.train.grad_accum_steps = steps;
  return cure;
}

/// What the recipe needs and what helps. Each figure takes memory to come by, and may be missing.
std::string advice(const Recipe& recipe, const Registries& registries,
                   const MemoryQuestion& question, std::uint64_t limit) {
  const MemoryEstimate need = estimate_memory(recipe, registries, question);
  std::vector<Cure> all = cures(recipe, question, need);
  if (need.batches.microbatch() > 1) {
    const auto activations = activations_by_samples(recipe, registries, question);
    all.insert(all.begin(), smaller_microbatches(recipe, need, activations, limit));
  }
  std::vector<std::string> that_fit;
  std::vector<std::string> too_large;
  for (const Cure& cure : all) {
    try {
      const auto bytes = estimate_memory(cure.recipe, registries, question).total();
      if (bytes >= need.total()) continue;
      (bytes <= limit ? that_fit : too_large)
          .push_back(fmt::format("{} ({})", cure.setting, base::format_bytes(bytes)));
    } catch (const std::exception&) {  // not to be had by this recipe, or no memory to measure it
    }
  }
  std::string text = fmt::format("A rank needs {} by prediction: {}.",
                                 base::format_bytes(need.total()), describe_parts(need));
  if (!that_fit.empty()) text += " These would fit: " + base::join(that_fit, ", ") + ".";
  if (!too_large.empty())
    text += " These would not by themselves: " + base::join(too_large, ", ") + ".";
  return text;
}

/// Without the stack trace that LibTorch appends.
std::string first_line(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return base::split(torch_error ? torch_error->what_without_backtrace() : error.what(), '\n')
      .front();
}

}  // namespace

AddressReserve::AddressReserve()
    : place_(mmap(nullptr, kReservedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0)) {}

AddressReserve::~AddressReserve() {
  if (place_ != MAP_FAILED) munmap(place_, kReservedBytes);
}

void rethrow_with_advice(const Recipe& recipe, const Registries& registries, int world_size,
                         int ranks_per_node) {
  std::string refusal;
  try {
    throw;
  } catch (const c10::Error& error) {  // a GPU's is one of these
    const std::string_view text = error.what_without_backtrace();
    const bool is_refusal = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                            text.find("you tried to allocate") != std::string_view::npos;
    if (!is_refusal) throw;
    refusal = first_line(error);
  } catch (const std::bad_alloc&) {
    refusal = "the C++ library has no more memory";
  }
  const auto held = static_cast<std::uint64_t>(tensor::tensor_memory().peak);
  std::string text = fmt::format("out of memory with {} of tensors held ({}). ",
                                 base::format_bytes(held), refusal);
  try {
    const auto question = ask_about(recipe, registries, world_size, ranks_per_node);
    text += advice(recipe, registries, question, held);
  } catch (const std::exception& error) {
    text += fmt::format(
        "What the run needs could not be predicted here ({}). Raise train.grad_accum_steps, set "
        "train.activation_checkpointing, or choose a smaller model; `paceline info memory` tells "
        "what each saves",
        first_line(error));
  }
  throw base::ConfigError(text);
}

}  // namespace paceline::app
