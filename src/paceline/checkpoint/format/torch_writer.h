#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/format/safetensors.h"

#include <filesystem>
#include <span>

namespace paceline::checkpoint {

/// Writes tensors to a new file as torch.save(OrderedDict) does, and fsyncs it: a zip archive that
/// torch.load(weights_only=True) reads, also mapped, with each tensor row-major in a storage of its
/// own at a multiple of 64 bytes. `metadata` goes under kTorchMetadata. Holds one tensor at a time.
/// Throws CheckpointError.
void write_torch_file(base::FileSystem& files, const std::filesystem::path& path,
                      std::span<const TensorSource> tensors, const Metadata& metadata);

}  // namespace paceline::checkpoint
