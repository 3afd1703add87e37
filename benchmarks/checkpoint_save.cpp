// Saves and loads the state of ViT-B/32 under AdamW (88 million parameters, three float32 tensors
// each: 1.06 GB) and prints one line {"ms": [...], "gb_per_s": MEDIAN} of its rounds.
//
//   stall   what a step waits for when a save starts; the first round may wait for the memory
//   write   from there to the checkpoint on disk, verified and renamed
//   raw     the same bytes by write() and fsync, with no checkpoint around them
//   load    from the files in the page cache to a filled model and optimizer, verified
//   use     the same and one pass over all of it in place, as the next step makes
//
// Usage: checkpoint_save stall|write|raw|load|use FOLDER ROUNDS

#include "paceline/base/file.h"
#include "paceline/checkpoint/async_writer.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/comm/c10d/bootstrap.h"
#include "paceline/tensor/aten.h"
#include "vit_b_32.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace pl = paceline;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Shards = std::vector<pl::tensor::StateShard>;

namespace {

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Shards vit_b_32_under_adamw() {
  Shards shards;
  for (const auto& [name, shape] : benchmarks::vit_b_32()) {
    for (const std::string prefix : {"", "optimizer.exp_avg/", "optimizer.exp_avg_sq/"}) {
      const at::Tensor data = at::rand(shape);
      shards.push_back(
          {.name = prefix + name, .data = data, .shape = shape, .begin = 0, .end = data.numel()});
    }
  }
  return shards;
}

double bytes_of(const Shards& shards) {
  double bytes = 0;
  for (const auto& shard : shards) bytes += static_cast<double>(shard.data.nbytes());
  return bytes;
}

/// Each round without what the former left to be written.
void clear(const fs::path& folder, pl::base::FileSystem& files) {
  files.remove_all(folder);
  files.create_directories(folder);
  files.sync_directory(folder);
}

std::vector<double> save(const Shards& shards, const fs::path& folder, int rounds, bool is_stall) {
  const auto communicator = pl::comm::connect({});
  pl::base::RealFileSystem files;
  pl::checkpoint::AsyncWriter writer(files, [](const fs::path&) {});
  writer.reserve(shards);
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    clear(folder, files);
    const auto begin = Clock::now();
    writer.start({.folder = folder, .step = round, .shards = shards}, *communicator);
    const double stall = ms_since(begin);
    writer.finish(*communicator);
    times.push_back(is_stall ? stall : ms_since(begin) - stall);
  }
  communicator->shutdown();
  return times;
}

std::vector<double> write_raw(const Shards& shards, const fs::path& folder, int rounds) {
  pl::base::RealFileSystem files;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    clear(folder, files);
    const auto begin = Clock::now();
    std::FILE* file = std::fopen((folder / "raw").c_str(), "wb");
    bool is_written = file != nullptr;
    for (const auto& shard : shards) {
      is_written = is_written && std::fwrite(shard.data.const_data_ptr(), 1, shard.data.nbytes(),
                                             file) == shard.data.nbytes();
    }
    if (!is_written || std::fflush(file) != 0 || ::fsync(::fileno(file)) != 0)
      throw std::runtime_error("cannot write the raw file");
    std::fclose(file);
    times.push_back(ms_since(begin));
  }
  return times;
}

std::vector<double> load(const Shards& shards, const fs::path& folder, int rounds, bool is_used) {
  save(shards, folder, 1, false);
  const auto communicator = pl::comm::connect({});
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& shard : shards) shard.data.zero_();
    const auto begin = Clock::now();
    const auto reader = pl::checkpoint::open_checkpoint(folder / "step-00000000", *communicator);
    load_checkpoint(*reader, shards, pl::checkpoint::ExtraTensors::kRefuse, *communicator);
    if (is_used) {
      for (const auto& shard : shards) shard.data.mul_(1.0);
    }
    times.push_back(ms_since(begin));
  }
  communicator->shutdown();
  return times;
}

void print(std::vector<double> times, double bytes) {
  std::string line;
  for (const double time : times) line += fmt::format("{}{:.2f}", line.empty() ? "" : ", ", time);
  std::sort(times.begin(), times.end());
  std::printf("{\"ms\": [%s], \"gb_per_s\": %.3f}\n", line.c_str(),
              bytes / times[times.size() / 2] / 1e6);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view mode = argc == 4 ? argv[1] : "";
  const int rounds = argc == 4 ? std::atoi(argv[3]) : 0;
  constexpr std::array<std::string_view, 5> kModes{"stall", "write", "raw", "load", "use"};
  const bool is_mode = std::ranges::find(kModes, mode) != kModes.end();
  if (!is_mode || rounds < 1) {
    std::fprintf(stderr, "usage: checkpoint_save stall|write|raw|load|use FOLDER ROUNDS\n");
    return 2;
  }
  const Shards shards = vit_b_32_under_adamw();
  const fs::path folder = argv[2];
  if (mode == "raw") {
    print(write_raw(shards, folder, rounds), bytes_of(shards));
  } else if (mode == "load" || mode == "use") {
    print(load(shards, folder, rounds, mode == "use"), bytes_of(shards));
  } else {
    print(save(shards, folder, rounds, mode == "stall"), bytes_of(shards));
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
