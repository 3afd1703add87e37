// Against torch.optim.swa_utils.update_bn: make_fresh_statistics.py.

#include "paceline/parallel/batch_norm/fresh_statistics.h"

#include "support/parity.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::parallel {
namespace {

using nlohmann::json;
using paceline::test::wave;

/// The script's network.
class RefreshedNet : public torch::nn::Module {
 public:
  RefreshedNet() {
    first_ = register_parameter("0", wave({4, 3, 3, 3}, 0));
    norms[0] = register_module("1", std::make_shared<nn::BatchNorm2d>(4));
    second_ = register_parameter("3", wave({5, 4, 3, 3}, 3));
    norms[1] = register_module("4", std::make_shared<nn::BatchNorm2d>(5));
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < norms.size(); ++i) {
      nn::BatchNorm2d& norm = *norms[i];
      norm.to(at::kDouble);
      norm.weight.copy_(wave(norm.weight.sizes(), i == 0 ? 1 : 4) + 1);
      norm.bias.copy_(wave(norm.bias.sizes(), i == 0 ? 2 : 5));
      norm.running_mean.fill_(7);
    }
  }
  at::Tensor forward(const at::Tensor& images) const {
    const at::Tensor hidden = at::relu(norms[0]->forward(at::conv2d(images, first_, {}, 1, 1)));
    return norms[1]->forward(at::conv2d(hidden, second_, {}, 2, 1));
  }

  std::array<std::shared_ptr<nn::BatchNorm2d>, 2> norms;

 private:
  at::Tensor first_, second_;
};

void expect_as_update_bn(const at::Tensor& got, const json& wanted, const char* quantity) {
  ASSERT_EQ(got.numel(), std::ssize(wanted));
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    paceline::test::expect_reference("swa: refresh", quantity, got[i].item<double>(),
                                     wanted[static_cast<std::size_t>(i)].get<double>(), 1e-12);
  }
}

/// With the samples of each batch cut over ranks, of which the last ones may get none.
void expect_as_golden(const json& golden, int world_size) {
  SCOPED_TRACE(fmt::format("{} on {} ranks", golden["sizes"].dump(), world_size));
  paceline::test::run_ranks(world_size, [&](comm::Communicator& ranks) {
    const at::NoGradGuard no_grad;
    RefreshedNet net;
    FreshStatistics statistics(net, ranks);
    double number = 0;
    for (const std::int64_t size : golden["sizes"].get<std::vector<std::int64_t>>()) {
      const at::Tensor batch = 2 * wave({size, 3, 6, 6}, 20 + number) + number / 3;
      const std::int64_t largest = (size + world_size - 1) / world_size;
      const std::int64_t first = std::min(size, ranks.rank() * largest);
      net.forward(batch.narrow(0, first, std::min(largest, size - first)));
      ++number;
    }
    statistics.store();
    for (std::size_t i = 0; i < net.norms.size(); ++i) {
      const json& wanted = golden["norms"][i];
      expect_as_update_bn(net.norms[i]->running_mean, wanted["mean"], "means");
      expect_as_update_bn(net.norms[i]->running_var, wanted["variance"], "variances");
      EXPECT_EQ(net.norms[i]->num_batches_tracked.item<std::int64_t>(), wanted["num_batches"]);
    }
  });
}

TEST(GoldenFreshStatistics, AreThoseOfUpdateBnOnAnyNumberOfRanks) {
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/fresh_statistics.json"));
  ASSERT_EQ(golden["cases"].size(), 3u);
  for (const json& each : golden["cases"]) {
    for (const int world_size : {1, 2, 3, 5}) expect_as_golden(each, world_size);
  }
}

}  // namespace
}  // namespace paceline::parallel
