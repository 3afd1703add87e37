#include "paceline/checkpoint/weights/stored_weights.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"
#include "paceline/checkpoint/format/dtypes.h"
#include "paceline/checkpoint/format/torch_file.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/state_dict_choice.h"
#include "paceline/checkpoint/weights/weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnd = ".index.json";
constexpr std::uint64_t kMostIndexBytes = std::uint64_t{64} << 20;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw base::CheckpointError(fmt::format("{}: {}", path.string(), what));
}

/// What this program's exports tell besides tensors; nothing if another program means something
/// else by the keys.
void take_metadata(const Metadata& metadata, StoredWeights& weights) {
  const auto take = [&](std::string_view key, const auto& read) {
    const auto found = metadata.find(std::string(key));
    if (found == metadata.end()) return;
    try {
      read(found->second);
    } catch (const base::JsonError&) {
    } catch (const nlohmann::json::exception&) {
    }
  };
  take(kClassNamesKey, [&](const std::string& text) {
    weights.class_names = base::parse_json(text).get<std::vector<std::string>>();
  });
  take(kSurgeryKey, [&](const std::string& text) {
    weights.surgery = surgery_from_json(base::parse_ordered_json(text));
  });
}

StoredWeights open_safetensors(const fs::path& path) {
  const auto file = std::make_shared<const SafetensorsFile>(path);
  StoredWeights weights{.owner = file};
  for (const auto& entry : file->entries()) {
    weights.tensors.push_back({entry.name, entry.dtype, entry.shape,
                               [&file = *file, &entry] { return file.tensor(entry); }});
  }
  take_metadata(file->metadata(), weights);
  return weights;
}

Metadata metadata_of(const TorchFile& file) {
  const auto text = file.record(kTorchMetadata);
  if (!text) return {};
  try {
    return base::parse_json(*text).get<Metadata>();
  } catch (const base::JsonError&) {
  } catch (const nlohmann::json::exception&) {
  }
  return {};  // another program's
}

StoredWeights open_torch(const fs::path& path, const std::string& key) {
  const auto file = std::make_shared<const TorchFile>(path);
  ChosenStateDict chosen = choose_state_dict(*file, key);
  StoredWeights weights{.owner = file, .notes = std::move(chosen.notes)};
  for (auto& [name, tensor] : chosen.tensors) {
    if (!is_saved_dtype(tensor.dtype))
      fail(path,
           fmt::format("tensor '{}' has dtype {}, which weights are not read in; convert it in "
                       "Python before torch.save()",
                       name, c10::toString(tensor.dtype)));
    const std::vector<std::int64_t> shape = tensor.shape;
    weights.tensors.push_back(
        {name, tensor.dtype, shape,
         [&file = *file, tensor = std::move(tensor)] { return file.load(tensor); }});
  }
  take_metadata(metadata_of(*file), weights);
  return weights;
}

StoredWeights open_checkpoint_weights(const fs::path& directory, const std::string& key) {
  const auto reader = std::make_shared<CheckpointReader>(directory);
  StoredWeights weights{.owner = reader, .tensors = model_tensors(*reader, key)};
  weights.class_names = reader->manifest().class_names;
  weights.surgery = reader->manifest().surgery;
  const std::string chosen = chosen_weights(reader->manifest(), key);
  if (!chosen.empty()) {
    weights.notes.push_back(fmt::format(
        "of the algorithm {}{}", chosen,
        key.empty() ? ", whose average the run's evaluations measured; key 'trained' takes the "
                      "trained ones"
                    : ""));
  }
  return weights;
}

/// Which file holds each tensor.
std::map<std::string, std::string> read_index(const fs::path& path) {
  std::map<std::string, std::string> files;
  try {
    const nlohmann::json index = base::parse_json(base::read_file(path, kMostIndexBytes));
    files = index.at("weight_map").get<std::map<std::string, std::string>>();
  } catch (const base::JsonError& error) {
    fail(path, fmt::format("damaged: {}", error.what()));
  } catch (const nlohmann::json::exception&) {
    fail(path, "no index of weights: it has no weight_map from tensors' names to files' names");
  }
  for (const auto& [name, file] : files) {
    if (file.empty() || file == "." || file == ".." || file.find('/') != std::string::npos)
      fail(path, fmt::format("tensor '{}' would be in '{}', which is no file of the same folder",
                             name, base::excerpt(file, 200)));
  }
  return files;
}

StoredWeights open_file(const fs::path& path, const std::string& key);

StoredWeights open_parts(const fs::path& path, const std::string& key) {
  const auto files = read_index(path);
  struct Parts {
    std::map<std::string, StoredWeights> by_file;
  };
  const auto parts = std::make_shared<Parts>();
  StoredWeights weights{.owner = parts};
  for (const auto& [name, file] : files) {
    if (parts->by_file.contains(file)) continue;
    const fs::path part = path.parent_path() / file;
    if (!fs::is_regular_file(part))
      fail(path, fmt::format("its part {} is not there; fetch it, too", part.string()));
    StoredWeights opened = open_file(part, key);
    for (TensorSource& tensor : opened.tensors) {
      const auto named = files.find(tensor.name);
      if (named == files.end() || named->second != file)
        fail(path,
             fmt::format("tensor '{}' is in {}, where the index has it not", tensor.name, file));
      weights.tensors.push_back(std::move(tensor));
    }
    weights.notes.insert(weights.notes.end(), opened.notes.begin(), opened.notes.end());
    opened.tensors.clear();
    parts->by_file.emplace(file, std::move(opened));
  }
  if (weights.tensors.size() != files.size()) {
    std::map<std::string, std::string> missing = files;
    for (const TensorSource& tensor : weights.tensors) missing.erase(tensor.name);
    fail(path, fmt::format("tensor '{}' is not in {}, where the index has it",
                           missing.begin()->first, missing.begin()->second));
  }
  return weights;
}

/// A safetensors file, or one of torch.save.
StoredWeights open_file(const fs::path& path, const std::string& key) {
  if (is_torch_file(base::MappedFile(path).bytes())) return open_torch(path, key);
  StoredWeights weights = open_safetensors(path);
  if (!key.empty())
    fail(path, fmt::format("model.pretrained_key: {}: a safetensors file has one set of weights; "
                           "take the key out",
                           key));
  return weights;
}

bool is_index(const fs::path& path) { return path.filename().string().ends_with(kIndexEnd); }

}  // namespace

StoredWeights open_weights(const fs::path& path, const std::string& key) {
  if (fs::is_directory(path)) {
    const auto file = find_weight_file(path);
    return file ? open_weights(*file, key) : open_checkpoint_weights(path, key);
  }
  return is_index(path) ? open_parts(path, key) : open_file(path, key);
}

std::optional<fs::path> find_weight_file(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    for (const fs::path& path : {folder / name, folder / fmt::format("{}{}", name, kIndexEnd)}) {
      if (fs::is_regular_file(path)) return path;
    }
  }
  std::vector<fs::path> indices;
  std::error_code ignored;  // then there is none
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors.index.json") || name.ends_with(".bin.index.json"))
      indices.push_back(entry.path());
  }
  return indices.size() == 1 ? std::optional(indices.front()) : std::nullopt;
}

}  // namespace paceline::checkpoint
