// Reads the weights of ViT-B/32 (353 MB in float32, in the page cache) from a file of torch.save
// into tensors that are there, as model.pretrained does, and prints one line {"ms": [...]} of its
// rounds.
//
// Usage: weight_load write FILE | weight_load load FILE ROUNDS

#include "paceline/base/file.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/tensor/aten.h"
#include "vit_b_32.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace pl = paceline;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<pl::checkpoint::NamedTensor> model() {
  std::vector<pl::checkpoint::NamedTensor> tensors;
  for (const auto& [name, shape] : benchmarks::vit_b_32())
    tensors.push_back({name, at::rand(shape)});
  return tensors;
}

void write(const std::string& path) {
  pl::base::RealFileSystem files;
  const auto tensors = model();
  pl::checkpoint::export_weights(files, path, pl::checkpoint::sources_of(tensors), {},
                                 pl::checkpoint::WeightFormat::kTorch);
}

void load(const std::string& path, int rounds) {
  const auto tensors = model();
  const std::vector<std::string> head{"head"};
  std::string line;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = Clock::now();
    pl::checkpoint::import_weights(path, tensors, head);
    const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    line += fmt::format("{}{:.2f}", line.empty() ? "" : ", ", time.count());
  }
  std::printf("{\"ms\": [%s]}\n", line.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view mode = argc > 2 ? argv[1] : "";
  const int rounds = argc == 4 ? std::atoi(argv[3]) : 0;
  if (mode == "write" && argc == 3) {
    write(argv[2]);
  } else if (mode == "load" && rounds > 0) {
    load(argv[2], rounds);
  } else {
    std::fprintf(stderr, "usage: weight_load write FILE | weight_load load FILE ROUNDS\n");
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
