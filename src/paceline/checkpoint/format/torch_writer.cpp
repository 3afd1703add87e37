#include "paceline/checkpoint/format/torch_writer.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/format/dtypes.h"
#include "paceline/checkpoint/format/torch_file.h"
#include "paceline/checkpoint/format/zip_writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::checkpoint {
namespace {

constexpr std::array<std::pair<at::ScalarType, std::string_view>, 10> kStorages{{
    {at::kDouble, "DoubleStorage"},
    {at::kFloat, "FloatStorage"},
    {at::kHalf, "HalfStorage"},
    {at::kBFloat16, "BFloat16Storage"},
    {at::kLong, "LongStorage"},
    {at::kInt, "IntStorage"},
    {at::kShort, "ShortStorage"},
    {at::kChar, "CharStorage"},
    {at::kByte, "ByteStorage"},
    {at::kBool, "BoolStorage"},
}};

std::string_view storage_class(at::ScalarType dtype) {
  for (const auto& [known, name] : kStorages) {
    if (known == dtype) return name;
  }
  throw base::CheckpointError(
      fmt::format("tensors of dtype {} cannot be exported", c10::toString(dtype)));
}

/// Spells a pickle of protocol 2, which torch.load(weights_only=True) takes and no other.
class PickleWriter {
 public:
  void add(std::string_view opcodes) { text_ += opcodes; }
  void add_global(std::string_view module, std::string_view name) {
    text_ += fmt::format("c{}\n{}\n", module, name);
  }
  void add_text(std::string_view text) {
    text_ += 'X';
    add_number(static_cast<std::uint32_t>(text.size()));
    text_ += text;
  }
  void add_int(std::int64_t value) {
    if (value >= 0 && value <= std::numeric_limits<std::int32_t>::max()) {
      text_ += 'J';
      add_number(static_cast<std::int32_t>(value));
    } else {
      text_ += "\x8a\x08";
      add_number(value);
    }
  }
  void add_tuple(std::span<const std::int64_t> values) {
    text_ += '(';
    for (const std::int64_t value : values) add_int(value);
    text_ += 't';
  }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  void add_number(T number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }

  std::string text_;
};

std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

/// torch._utils._rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())
void add_tensor(PickleWriter& pickle, const TensorSource& tensor, std::size_t number) {
  const auto numel = checked_numel(tensor.shape);
  PACELINE_CHECK(numel, "tensor '{}' has an impossible shape", tensor.name);
  pickle.add_text(tensor.name);
  pickle.add_global("torch._utils", "_rebuild_tensor_v2");
  pickle.add("((");
  pickle.add_text("storage");
  pickle.add_global("torch", storage_class(tensor.dtype));
  pickle.add_text(std::to_string(number));
  pickle.add_text("cpu");
  pickle.add_int(*numel);
  pickle.add("tQ");
  pickle.add_int(0);
  pickle.add_tuple(tensor.shape);
  pickle.add_tuple(row_major_strides(tensor.shape));
  pickle.add("\x89");
  pickle.add_global("collections", "OrderedDict");
  pickle.add(")RtR");
}

std::string pickle_of(std::span<const TensorSource> tensors) {
  PickleWriter pickle;
  pickle.add("\x80\x02");
  pickle.add_global("collections", "OrderedDict");
  pickle.add(")R(");
  for (std::size_t i = 0; i < tensors.size(); ++i) add_tensor(pickle, tensors[i], i);
  pickle.add("u.");
  return pickle.text();
}

}  // namespace

void write_torch_file(base::FileSystem& files, const std::filesystem::path& path,
                      std::span<const TensorSource> tensors, const Metadata& metadata) {
  const std::unique_ptr<base::OutputFile> file = files.create(path);
  ZipWriter archive(*file);
  archive.add("weights/data.pkl", pickle_of(tensors));
  archive.add("weights/.format_version", "1");
  archive.add("weights/.storage_alignment", std::to_string(ZipWriter::kAlignment));
  archive.add("weights/byteorder", "little");
  archive.add(fmt::format("weights/{}", kTorchMetadata), nlohmann::json(metadata).dump());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor tensor = tensors[i].load().detach().to(at::kCPU).contiguous();
    PACELINE_CHECK(tensor.sizes() == at::IntArrayRef(tensors[i].shape) &&
                       tensor.scalar_type() == tensors[i].dtype,
                   "tensor '{}' is not what its source said", tensors[i].name);
    archive.add(fmt::format("weights/data/{}", i),
                {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  archive.add("weights/version", "3\n");
  archive.finish();
  file->sync();
  file->close();
}

}  // namespace paceline::checkpoint
