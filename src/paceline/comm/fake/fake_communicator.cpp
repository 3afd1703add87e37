#include "paceline/comm/fake/fake_communicator.h"

#include "paceline/base/error.h"
#include "paceline/comm/collective.h"
#include "paceline/tensor/aten.h"

namespace paceline::comm {
namespace {

class FakeCommunicator final : public Communicator {
 public:
  FakeCommunicator(int rank, int world_size) : rank_(rank), world_size_(world_size) {}

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }
  std::string backend() const override { return "fake"; }
  std::string describe() const override {
    return fmt::format("fake (rank {} of {}, no peers)", rank_, world_size_);
  }

  std::unique_ptr<Work> all_reduce(const at::Tensor& /*tensor*/, ReduceOp /*op*/,
                                   std::string_view /*label*/) override {
    return std::make_unique<CompletedWork>();
  }
  std::unique_ptr<Work> broadcast(const at::Tensor& /*tensor*/, int /*source_rank*/,
                                  std::string_view /*label*/) override {
    return std::make_unique<CompletedWork>();
  }
  std::unique_ptr<Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                   std::string_view /*label*/) override {
    check_slices(output, input, world_size_);
    const at::NoGradGuard no_grad;
    // One by one: the input may be this rank's slice of the output.
    const at::Tensor slices = output.view({world_size_, input.numel()});
    for (int rank = 0; rank < world_size_; ++rank) slices[rank].copy_(input.view({input.numel()}));
    return std::make_unique<CompletedWork>();
  }
  std::unique_ptr<Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                       std::string_view /*label*/) override {
    check_slices(input, output, world_size_);
    const at::NoGradGuard no_grad;
    output.view({output.numel()}).copy_(input.view({world_size_, output.numel()})[rank_]);
    return std::make_unique<CompletedWork>();
  }
  void barrier() override {}
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return std::vector<std::string>(static_cast<std::size_t>(world_size_), text);
  }
  std::unique_ptr<Communicator> split(int /*color*/) override {
    return std::make_unique<FakeCommunicator>(rank_, world_size_);
  }
  void set_timeout(std::chrono::milliseconds /*timeout*/) override {}
  void shutdown() override {}

 private:
  int rank_;
  int world_size_;
};

}  // namespace

std::unique_ptr<Communicator> make_fake_communicator(int rank, int world_size) {
  PACELINE_CHECK(rank >= 0 && rank < world_size, "rank {} of a world of {}", rank, world_size);
  return std::make_unique<FakeCommunicator>(rank, world_size);
}

}  // namespace paceline::comm
