#include "gpu/count_waits.h"
#include "gpu/test_devices.h"
#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "support/block_net.h"
#include "support/temp_folder.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CudaDeviceTest : public ::testing::Test {
 protected:
  /// A tensor in the memory that the device copies from fastest.
  at::Tensor host_tensor(at::IntArrayRef sizes, at::ScalarType dtype) {
    const at::Tensor shape = at::empty(sizes, dtype);
    auto memory = device_->allocate_host(shape.nbytes());
    void* data = memory.get();
    return at::from_blob(
        data, sizes, [memory = std::move(memory)](void*) {}, dtype);
  }

  std::unique_ptr<Device> device_ = test::open_device(0);
  at::Device place_ = device_->place();
};

TEST_F(CudaDeviceTest, TellsWhatItIs) {
  EXPECT_TRUE(device_->is_asynchronous());
  if (test::uses_stand_in()) GTEST_SKIP() << "the stand-in has no name";
  EXPECT_EQ(place_, at::Device(at::kCUDA, 0));
  EXPECT_THAT(device_->uuid(), StartsWith("GPU-"));
  EXPECT_EQ(device_->uuid().size(), std::string("GPU-01234567-89ab-cdef-0123-456789abcdef").size());
  EXPECT_THAT(device_->describe(), HasSubstr("compute capability"));
}

TEST_F(CudaDeviceTest, OneThatIsNotThereIsRefused) {
  if (test::uses_stand_in()) GTEST_SKIP() << "the stand-in is always there";
  if (test::num_devices() == 1) GTEST_SKIP() << "the only GPU is every rank's";
  EXPECT_THROW(open_cuda_device(test::num_devices()), base::ConfigError);
}

TEST_F(CudaDeviceTest, HostMemoryIsPinned) {
  if (test::uses_stand_in()) GTEST_SKIP() << "the stand-in pins nothing";
  EXPECT_TRUE(host_tensor({16}, at::kFloat).is_pinned());
}

TEST_F(CudaDeviceTest, TransfersKeepValuesAndStrides) {
  const at::Tensor images = host_tensor({2, 8, 8, 3}, at::kFloat)
                                .copy_(test::wave({2, 8, 8, 3}, 1))
                                .permute({0, 3, 1, 2});
  const at::Tensor labels = host_tensor({2}, at::kLong).fill_(7);
  const auto transfer = device_->start_transfer({images, labels});
  const auto taken = transfer->take();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].device(), place_);
  EXPECT_EQ(taken[0].strides(), images.strides());
  EXPECT_TRUE(taken[0].cpu().equal(images));
  EXPECT_TRUE(taken[1].cpu().equal(labels));
}

/// As a training does it: the next batch is copied while work on this one is queued, and host
/// memory is filled anew as soon as its transfer is gone.
TEST_F(CudaDeviceTest, TransfersBesideWorkBringTheRightBatch) {
  constexpr std::int64_t kSize = 1 << 18;
  at::Tensor host[2] = {host_tensor({kSize}, at::kFloat), host_tensor({kSize}, at::kFloat)};
  const at::Tensor weight = at::eye(512, at::TensorOptions(place_));
  std::vector<at::Tensor> results;
  std::unique_ptr<Transfer> ahead;
  std::unique_ptr<Transfer> at_hand;
  for (int step = 0; step < 40; ++step) {
    if (!ahead) {
      host[step % 2].fill_(step);
      ahead = device_->start_transfer({host[step % 2]});
    }
    at::Tensor batch = ahead->take().at(0);
    at_hand = std::move(ahead);
    for (int i = 0; i < 8; ++i) batch = at::mm(batch.view({-1, 512}), weight);
    results.push_back(batch.mean());
    host[(step + 1) % 2].fill_(step + 1);  // its transfer of two steps ago is gone
    ahead = device_->start_transfer({host[(step + 1) % 2]});
  }
  device_->synchronize();
  for (int step = 0; step < 40; ++step)
    EXPECT_EQ(results[static_cast<std::size_t>(step)].item<float>(), static_cast<float>(step));
}

/// What other tests count is there to be counted.
TEST_F(CudaDeviceTest, WaitsAreCounted) {
  const at::Tensor tensor = at::ones({16}, at::TensorOptions(place_));
  const at::Tensor host = host_tensor({std::int64_t{1} << 27}, at::kByte);  // takes milliseconds
  const auto waits = [&](const std::function<void()>& work) {
    return test::count_waits(*device_, work);
  };
  EXPECT_EQ(waits([&] { (tensor + 1).sum(); }), 0);
  EXPECT_EQ(waits([&] { device_->read(tensor); }), 1);
  EXPECT_EQ(waits([&] { tensor.sum().item<float>(); }), 1);
  EXPECT_EQ(waits([&] { at::ones({16}).to(place_); }), 1) << "from memory that is not pinned";
  EXPECT_EQ(waits([&] { device_->synchronize(); }), 1);
  EXPECT_EQ(waits([&] { device_->start_transfer({host}); }), 1) << "the copy has not ended";
  auto transfer = device_->start_transfer({host});
  device_->synchronize();
  EXPECT_EQ(waits([&] { transfer.reset(); }), 0) << "the copy has ended";
}

TEST_F(CudaDeviceTest, CountsItsMemory) {
  if (test::uses_stand_in()) GTEST_SKIP() << "the stand-in's counts are fixed";
  constexpr std::uint64_t kBytes = std::uint64_t{8} << 20;
  const DeviceMemory before = device_->memory();
  at::Tensor tensor = at::empty({kBytes}, at::TensorOptions(place_).dtype(at::kByte));
  const DeviceMemory held = device_->memory();
  EXPECT_EQ(held.allocated_bytes - before.allocated_bytes, kBytes);
  EXPECT_GE(held.peak_allocated_bytes, held.allocated_bytes);
  EXPECT_GE(held.reserved_bytes, held.allocated_bytes);
  tensor.reset();
  EXPECT_EQ(device_->memory().allocated_bytes, before.allocated_bytes);
  EXPECT_GE(device_->memory().peak_allocated_bytes, held.allocated_bytes);
}

TEST_F(CudaDeviceTest, ReplayedWorkEqualsDirectWork) {
  test::BlockNet net(0, {.dtype = at::kFloat});
  net.to(place_);
  const at::Tensor images = test::wave({4, 3, 8, 8}, 3, at::kFloat).to(place_);
  const at::Tensor targets = test::wave({4, 5}, 5, at::kFloat).to(place_);
  const auto gradients = [&] {
    for (at::Tensor& parameter : net.parameters()) parameter.mutable_grad().reset();
    const at::Tensor loss = (net.forward(images) - targets).square().sum();
    loss.backward();
    std::vector<at::Tensor> found{loss.detach()};
    for (const at::Tensor& parameter : net.parameters()) found.push_back(parameter.grad());
    return found;
  };
  for (int i = 0; i < 3; ++i) gradients();  // libraries get their workspaces
  const auto work = device_->make_graph();
  ASSERT_NE(work, nullptr);
  std::vector<at::Tensor> recorded;
  work->record([&] { recorded = gradients(); });
  for (int round = 0; round < 3; ++round) {
    images.add_(0.1);
    work->replay();
    std::vector<at::Tensor> replayed;
    for (const at::Tensor& tensor : recorded) replayed.push_back(tensor.clone());
    const auto direct = gradients();
    ASSERT_EQ(replayed.size(), direct.size());
    for (std::size_t i = 0; i < direct.size(); ++i)
      EXPECT_TRUE(replayed[i].equal(direct[i])) << "round " << round << ", tensor " << i;
  }
}

TEST_F(CudaDeviceTest, WritesAMemorySnapshot) {
  if (test::uses_stand_in()) GTEST_SKIP() << "the stand-in writes none";
  const test::TempFolder folder;
  const auto path = folder.path() / "snapshot.pickle";
  device_->record_memory_history();
  const at::Tensor tensor = at::ones({1 << 20}, at::TensorOptions(place_));
  device_->write_memory_snapshot(path);
  EXPECT_GT(std::filesystem::file_size(path), 100u);
}

/// In a process of its own, which the failed recording may leave in any state.
TEST(CudaDeviceDeathTest, WorkThatWaitsCannotBeRecorded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto refuses = [] {
    const auto device = test::open_device(0);
    const at::Tensor one = at::ones({1}, at::TensorOptions(device->place()));
    try {
      device->make_graph()->record([&] { (one + 1).item<float>(); });
    } catch (const c10::Error&) {
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(refuses(), ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaDeviceTest, RangesNest) {
  const DeviceRange outer(*device_, "outer");
  const DeviceRange inner(*device_, "inner");
}

}  // namespace
}  // namespace paceline::tensor
