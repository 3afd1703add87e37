#include "paceline/app/out_of_memory.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/load.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/tensor/torch.h"
#include "support/temp_folder.h"

#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kManyImages = R"(
model:     {name: vit, img_size: 16, patch_size: 4, embed_dim: 32, depth: 4, num_heads: 2}
data:      {name: synthetic, num_samples: 1024, num_val_samples: 4, num_classes: 5, size: 16,
            batch_size_per_rank: 64, num_threads: 1}
optimizer: {name: adamw, lr: 0.01}
)";

class OutOfMemoryTest : public ::testing::Test {
 protected:
  OutOfMemoryTest() { tensor::count_tensor_memory(); }

  /// The error of a run that fails in this way after it had got so much memory.
  std::string failure(std::uint64_t held_bytes, const std::function<void()>& fail) {
    const Recipe recipe = config::load<Recipe>(folder_.write("recipe.yaml", kManyImages), {},
                                               {registries_->catalogs(), 2})
                              .value;
    tensor::restart_peak();
    try {
      try {
        const AddressReserve reserve;
        const at::Tensor held = at::empty({static_cast<std::int64_t>(held_bytes)}, at::kByte);
        fail();
      } catch (...) {
        rethrow_with_advice(recipe, *registries_, 2, 2);
      }
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }

  test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

void ask_for_too_much() { at::empty({std::int64_t{1} << 50}, at::kByte); }

TEST_F(OutOfMemoryTest, NamesWhatTakesMemoryAndWhatWouldFit) {
  EXPECT_THAT(failure(12 << 20, ask_for_too_much),
              AllOf(HasSubstr("out of memory with 12."), HasSubstr("you tried to allocate"),
                    HasSubstr("by prediction: activations "), HasSubstr("MiB, "),
                    HasSubstr("These would fit: train.grad_accum_steps="),
                    HasSubstr("train.activation_checkpointing={every: 1} ("),
                    HasSubstr("These would not by themselves: "), HasSubstr("optimizer=sgd (")));
}

TEST_F(OutOfMemoryTest, PromisesNothingWhereNothingFits) {
  EXPECT_THAT(failure(1 << 10, ask_for_too_much),
              AllOf(Not(HasSubstr("These would fit")),
                    HasSubstr("These would not by themselves: train.grad_accum_steps=64 (")));
}

TEST_F(OutOfMemoryTest, KnowsEveryAllocatorsRefusal) {
  EXPECT_THAT(failure(1 << 10, [] { throw std::bad_alloc(); }), HasSubstr("by prediction"));
  EXPECT_THAT(failure(1 << 10, [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA is full"); }),
              AllOf(HasSubstr("(CUDA is full)"), HasSubstr("by prediction")));
}

TEST_F(OutOfMemoryTest, AnyOtherFailurePasses) {
  EXPECT_THROW(failure(1, [] { TORCH_CHECK(false, "a wrong shape"); }), c10::Error);
  EXPECT_THROW(failure(1, [] { throw base::DataError("a hole in a file"); }), base::DataError);
}

}  // namespace
}  // namespace paceline::app
