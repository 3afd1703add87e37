#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/cli/data/field_viewer.h"
#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/loader/array_maker.h"
#include "paceline/data/loader/sample_order.h"
#include "paceline/dataset_tools/contact_sheet.h"
#include "paceline/dataset_tools/statistics.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace paceline::cli {
namespace {

/// The pixels of stored samples, as they are or as training gets them.
class SampleViewer {
 public:
  /// Both must outlive it; without a pipeline samples are shown as they are.
  SampleViewer(const data::Dataset& dataset, const data::TransformPipeline* pipeline,
               std::uint64_t seed)
      : dataset_(dataset), pipeline_(pipeline), seed_(seed) {}

  /// "12  label 3  n01440764  /data/x.JPEG  500x375  JPEG baseline 4:4:4"
  std::string describe(std::int64_t index) {
    read(index);
    return fmt::format("{}  label {}  {}  {}  {}x{}  {}", index, sample_.label,
                       dataset_.class_names().at(static_cast<std::size_t>(sample_.label)),
                       dataset_.describe(index), size_.width, size_.height,
                       dataset_tools::describe_format(sample_));
  }

  /// Of the sample that was described last; valid until the next call.
  data::PixelView pixels(std::int64_t index) {
    if (pipeline_ != nullptr) return transformed(index);
    if (sample_.width == 0) return decoder_.decode(data::whole(size_), buffer_);
    std::ranges::copy(sample_.bytes, buffer_.reserve(sample_.bytes.size()));
    return view_of_buffer(size_);
  }

 private:
  void read(std::int64_t index) {
    try {
      dataset_.get(index, sample_);
      size_ = sample_.width != 0 ? data::ImageSize{sample_.height, sample_.width}
                                 : decoder_.open(sample_.bytes);
    } catch (const base::DataError& error) {
      throw base::DataError(data::describe_problem(dataset_, index, error.what()));
    }
  }

  data::PixelView transformed(std::int64_t index) {
    const data::ImageSize size = pipeline_->output_size();
    std::uint8_t* const bytes =
        buffer_.reserve(std::size_t{3} * static_cast<std::size_t>(size.height * size.width));
    const auto erased = pipeline_->run(sample_, {seed_, 0, static_cast<std::uint64_t>(index)},
                                       scratch_, data::ByteSink{bytes});
    for (const data::EraseStep& step : erased) paint(step, size, bytes);
    return view_of_buffer(size);
  }

  /// The colours that were erased with, which are given as normalised ones.
  void paint(const data::EraseStep& erased, data::ImageSize size, std::uint8_t* bytes) const {
    const data::NormalizeConfig& scale = pipeline_->normalization();
    data::ErasingValues values(erased);
    for (int y = erased.box.top; y < erased.box.bottom(); ++y) {
      for (int x = erased.box.left; x < erased.box.right(); ++x) {
        for (std::size_t c = 0; c < 3; ++c) {
          const double value = 255 * (values.next(c) * scale.std[c] + scale.mean[c]);
          bytes[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) +
                     static_cast<std::size_t>(x)) +
                c] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
        }
      }
    }
  }

  data::PixelView view_of_buffer(data::ImageSize size) {
    return {buffer_.data(), size, std::ptrdiff_t{3} * size.width};
  }

  const data::Dataset& dataset_;
  const data::TransformPipeline* pipeline_;
  std::uint64_t seed_;
  data::StoredSample sample_;
  data::ImageSize size_;
  data::ImageDecoder decoder_;
  data::PixelBuffer buffer_;
  data::TransformScratch scratch_;
};

/// The samples asked for, or `count` drawn ones.
std::vector<std::int64_t> choose(std::vector<std::int64_t> indices, std::int64_t count,
                                 std::uint64_t seed, std::int64_t size) {
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= size)
      throw base::ConfigError(fmt::format("--indices names {}, but the samples are 0 to {}", index,
                                          base::format_count(size - 1)));
  }
  if (!indices.empty() || size == 0) return indices;
  const data::SampleOrder order(seed, 0, size);
  for (std::int64_t i = 0; i < std::min(count, size); ++i) indices.push_back(order.at(i));
  std::ranges::sort(indices);
  return indices;
}

/// Prints images, and draws them into the sheet if there is one.
void show_images(const app::DataPart& part, const std::vector<std::int64_t>& indices,
                 bool is_augmented, std::uint64_t seed,
                 std::optional<dataset_tools::ContactSheet>& sheet) {
  SampleViewer viewer(*part.dataset, is_augmented ? part.pipeline.get() : nullptr, seed);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    fmt::print("{}\n", viewer.describe(indices[i]));
    if (sheet) sheet->put(static_cast<std::int64_t>(i), viewer.pixels(indices[i]));
  }
}

/// The same for samples that are no images, of which slices are drawn.
void show_fields(const app::DataPart& part, const std::vector<std::int64_t>& indices,
                 bool is_augmented, std::uint64_t seed,
                 std::optional<dataset_tools::ContactSheet>& sheet) {
  auto maker = part.maker;
  if (auto stored = part.dataset->stored_fields(); !stored.empty() && !is_augmented)
    maker = std::make_shared<data::ArrayMaker>(std::move(stored));
  FieldViewer viewer(*part.dataset, std::move(maker), seed);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    fmt::print("{}\n", viewer.describe(indices[i]));
    const auto slice = sheet ? viewer.slice() : std::nullopt;
    if (slice) sheet->put(static_cast<std::int64_t>(i), *slice);
    if (sheet && !slice)
      throw base::ConfigError("-o: no field of the samples has two axes to draw; leave it out");
  }
}

}  // namespace

int run_data_show(const std::vector<std::string>& arguments, const app::Registries& registries) {
  DataSource source;
  std::vector<std::int64_t> indices;
  std::int64_t count = 16;
  std::uint64_t seed = 0;
  int tile = 224;
  bool is_augmented = false;
  std::filesystem::path output;
  CLI::App app(
      "Print samples of a data set, one line each, and draw them side by side into a PNG file: "
      "images, or of arrays the middle slice of the first field with two axes.",
      "data show");
  source.add_options(app);
  auto* const chosen =
      app.add_option("--indices", indices, "Which samples, as 0,5,9")->delimiter(',');
  app.add_option("--count", count, "How many drawn samples, unless --indices names them")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000}))
      ->capture_default_str()
      ->excludes(chosen);
  app.add_option("--seed", seed, "What is drawn by it: samples and transforms")
      ->capture_default_str();
  app.add_flag("--augmented", is_augmented, "Draw them as the transforms of the split leave them");
  app.add_option("--tile", tile, "Longest side of a drawn image, in pixels")
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  app.add_option("-o,--output", output, "The PNG file to draw; left out: none");
  if (!parse_arguments(app, arguments, registries)) return 0;
  refuse_other_format(output, ".png", "PNG is what is drawn",
                      {".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".pdf"});
  const app::DataPart part = app::open_data(source.recipe(registries), registries,
                                            split_of(source.split), /*interruption=*/nullptr);
  app::warn_of_content(*part.dataset);
  indices = choose(std::move(indices), count, seed, part.dataset->size());
  std::optional<dataset_tools::ContactSheet> sheet;
  if (!output.empty() && !indices.empty()) sheet.emplace(std::ssize(indices), tile);
  (part.pipeline ? show_images : show_fields)(part, indices, is_augmented, seed, sheet);
  if (sheet) sheet->write_png(output);
  return 0;
}

}  // namespace paceline::cli
