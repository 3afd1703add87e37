#pragma once

#include "paceline/base/file.h"
#include "paceline/data/pack/packer.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/dataset_tools/synth.h"
#include "support/data/ct_files.h"
#include "support/data/npy_files.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace paceline::test {

/// Records of as many labels as the variant has, then 32 x 32 pixels of three colours.
inline std::string cifar_records(int count, std::size_t num_labels) {
  std::string records;
  for (int i = 0; i < count; ++i) {
    records += std::string(num_labels, static_cast<char>(i % 5));
    for (int byte = 0; byte < 3072; ++byte) records += static_cast<char>((i * 31 + byte * 7) % 251);
  }
  return records;
}

inline std::string class_names(int count) {
  std::string names;
  for (int i = 0; i < count; ++i) names += fmt::format("class{}\n", i);
  return names;
}

/// Five images of each class in each part.
inline void write_images(const std::filesystem::path& folder, int classes) {
  dataset_tools::SynthOptions options{.path = folder.string(), .classes = classes};
  options.train_per_class = options.val_per_class = 5;
  options.min_size = options.max_size = 24;
  dataset_tools::synthesize_image_folder(options);
}

inline void write_image_folder(const TempFolder& folder) {
  write_images(folder.path() / "data", 3);
}

/// A file in the place of the folder, as data.path names one.
inline void write_image_list(const TempFolder& folder) {
  write_images(folder.path() / "images", 3);
  std::string rows = "path,label,is_valid\n";
  for (const std::string split : {"train", "val"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder.path() / "images" / split)) {
      if (!entry.is_regular_file()) continue;
      rows += fmt::format("{},{},{}\n", entry.path().string(),
                          entry.path().parent_path().filename().string(), split == "val");
    }
  }
  folder.write("data", rows);
}

inline void write_packed(const TempFolder& folder) {
  write_images(folder.path() / "synth", 3);
  base::RealFileSystem files;
  for (const std::string split : {"train", "val"}) {
    const auto images = data::open_image_folder(folder.path() / "synth", split, "train");
    data::pack(*images, {.folder = folder.path() / "data" / split}, files);
  }
}

inline void write_ilsvrc2012(const TempFolder& folder) {
  write_images(folder.path() / "synth", 3);
  int number = 10000000;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "synth/train")) {
    std::filesystem::create_directories(folder.path() / "data/val");
    const std::string wnid = fmt::format("n{}", ++number);
    const std::string class_name = entry.path().filename().string();
    data::write_tar(folder.path() / fmt::format("data/train/{}.tar", wnid),
                    data::folder_content(entry.path()));
    std::filesystem::rename(folder.path() / "synth/val" / class_name,
                            folder.path() / "data/val" / wnid);
  }
}

inline void write_webdataset(const TempFolder& folder) {
  write_images(folder.path() / "synth", 1);
  for (const std::string split : {"train", "val"}) {
    data::TarContent members;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder.path() / "synth" / split)) {
      if (!entry.is_regular_file()) continue;
      const std::string key = fmt::format("{:04}", members.size());
      members.emplace_back(key + ".jpg", data::read_text(entry.path()));
      members.emplace_back(key + ".cls", std::to_string(members.size() % 3));
    }
    data::write_tar(folder.path() / fmt::format("data/{}-0000.tar", split), members);
  }
}

inline void write_parquet(const TempFolder& folder) {
  std::filesystem::create_directories(folder.path() / "data");
  for (const std::string split : {"train", "validation"}) {
    std::filesystem::copy_file(
        std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/golden/data/parquet/photos.parquet",
        folder.path() / fmt::format("data/{}-0.parquet", split));
  }
}

inline void write_mnist(const TempFolder& folder) {
  for (const std::string split : {"train", "t10k"}) {
    folder.write(fmt::format("data/{}-images-idx3-ubyte", split),
                 std::string("\0\0\x08\x03\0\0\0\x0E\0\0\0\x1C\0\0\0\x1C", 16) +
                     cifar_records(4, 0).substr(0, 14 * 28 * 28));
    folder.write(fmt::format("data/{}-labels-idx1-ubyte", split),
                 std::string("\0\0\x08\x01\0\0\0\x0E\0\1\2\3\0\1\2\3\0\1\2\3\0\1", 22));
  }
}

inline void write_npy(const TempFolder& folder) {
  const auto array = [](const std::string& type, const std::string& shape) {
    const std::string dict =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}\n", type, shape);
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dict.size()) + '\0' + dict;
  };
  for (const std::string split : {"train", "val"}) {
    folder.write(fmt::format("data/{}_images.npy", split),
                 array("|u1", "14, 32, 32, 3") + cifar_records(14, 0));
    folder.write(fmt::format("data/{}_labels.npy", split),
                 array("|u1", "14,") + std::string("\0\1\2\3\0\1\2\3\0\1\2\3\0\1", 14));
  }
}

inline void write_arrays(const TempFolder& folder) {
  for (const std::string split : {"train", "val"}) {
    folder.write(fmt::format("data/{}/images.npy", split), npy_file<float>("<f4", {14, 3, 16, 16}));
    folder.write(fmt::format("data/{}/labels.npy", split), npy_file<std::uint8_t>("|u1", {14}));
  }
}

/// Images of any of five classes.
inline void write_arrays_of_sets(const TempFolder& folder) {
  for (const std::string split : {"train", "val"}) {
    folder.write(fmt::format("data/{}/images.npy", split), npy_file<float>("<f4", {14, 3, 16, 16}));
    std::string targets = npy_file<float>("<f4", {14, 5});
    auto* const numbers = reinterpret_cast<float*>(targets.data() + targets.size() - 14 * 5 * 4);
    for (int i = 0; i < 14 * 5; ++i) numbers[i] = i * i % 3 == 1 ? 1.0F : 0.0F;
    folder.write(fmt::format("data/{}/targets.npy", split), targets);
  }
}

inline void write_cifar10(const TempFolder& folder) {
  for (int i = 1; i <= 5; ++i)
    folder.write(fmt::format("data/data_batch_{}.bin", i), cifar_records(3, 1));
  folder.write("data/test_batch.bin", cifar_records(3, 1));
  folder.write("data/batches.meta.txt", class_names(10));
}

inline void write_cifar100(const TempFolder& folder) {
  folder.write("data/train.bin", cifar_records(14, 2));
  folder.write("data/test.bin", cifar_records(3, 2));
  folder.write("data/coarse_label_names.txt", class_names(20));
  folder.write("data/fine_label_names.txt", class_names(100));
}

inline void write_ct(const TempFolder& folder) {
  CtFiles{.sides = {12}, .train = 14, .val = 3}.write(folder, "data");
}

/// Of each data set that reads files by `data.path`, what writes some to the folder's `data`. A new
/// one of that kind is added here.
inline const std::map<std::string, std::function<void(const TempFolder&)>> kDatasetFiles{
    {"arrays", write_arrays},
    {"cifar10", write_cifar10},
    {"cifar100", write_cifar100},
    {"ct", write_ct},
    {"ilsvrc2012", write_ilsvrc2012},
    {"image_folder", write_image_folder},
    {"image_list", write_image_list},
    {"mnist", write_mnist},
    {"npy", write_npy},
    {"packed", write_packed},
    {"parquet", write_parquet},
    {"webdataset", write_webdataset},
};

}  // namespace paceline::test
