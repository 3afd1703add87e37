#include "paceline/dataset_tools/synth.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/dataset_tools/synth_digit.h"
#include "paceline/dataset_tools/synth_folder.h"
#include "paceline/dataset_tools/synth_photo.h"
#include "paceline/dataset_tools/synth_scene.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>
#include <turbojpeg.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

/// A version changes when the pictures do.
constexpr int kPictureVersion = 1;
constexpr int kDigitVersion = 2;

std::string marker_text(const SynthOptions& options) {
  if (options.kind != SynthKind::kShapes) {
    const bool are_digits = options.kind == SynthKind::kDigits;
    return fmt::format(
        "paceline data synth --like {}, pictures version {}\nclasses={} train_per_class={} "
        "val_per_class={} seed={}\n",
        are_digits ? "digits" : "imagenet", are_digits ? kDigitVersion : kPictureVersion,
        options.classes, options.train_per_class, options.val_per_class, options.seed);
  }
  return fmt::format(
      "paceline data synth, pictures version {}\nclasses={} train_per_class={} val_per_class={} "
      "min_size={} max_size={} quality={} seed={}\n",
      kPictureVersion, options.classes, options.train_per_class, options.val_per_class,
      options.min_size, options.max_size, options.quality, options.seed);
}

void check_options(const SynthOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw base::ConfigError("data synth: " + message);
  };
  require(!options.path.empty(), "no path: give the folder to write");
  const int most = options.kind == SynthKind::kDigits ? kNumDigits : kMaxSynthClasses;
  require(options.classes >= 1 && options.classes <= most,
          fmt::format("classes is {}, expected 1 to {}", options.classes, most));
  for (const int count : {options.train_per_class, options.val_per_class})
    require(count >= 1 && count <= kMaxSynthImagesPerClass,
            fmt::format("train_per_class and val_per_class are from 1 to {}, but one is {}",
                        kMaxSynthImagesPerClass, count));
  require(options.min_size >= 16 && options.min_size <= options.max_size &&
              options.max_size <= kMaxSynthSize,
          fmt::format("min_size is {} and max_size {}, expected 16 <= min_size <= max_size <= {}",
                      options.min_size, options.max_size, kMaxSynthSize));
  require(options.quality >= 1 && options.quality <= 100,
          fmt::format("quality is {}, expected 1 to 100", options.quality));
}

/// A picture and how it is to be compressed.
struct SynthFile {
  data::Image image;
  JpegSampling sampling = JpegSampling::k420;
  int quality = 0;
};

SynthFile make_file(const SynthOptions& options, int class_index, std::int64_t index) {
  if (options.kind == SynthKind::kShapes)
    return {synthesize_image(options, class_index, index), JpegSampling::k420, options.quality};
  if (options.kind == SynthKind::kDigits)
    return {synthesize_digit(class_index, options.seed, index), JpegSampling::k444, kDigitQuality};
  const std::int64_t number = index * options.classes + class_index;
  const PhotoPlan plan = plan_photo(options.seed, number);
  return {synthesize_photo(plan, class_index, options.seed, number), plan.sampling, plan.quality};
}

int turbojpeg_sampling(JpegSampling sampling) {
  switch (sampling) {
    case JpegSampling::k444:
      return TJSAMP_444;
    case JpegSampling::k422:
      return TJSAMP_422;
    case JpegSampling::k420:
      return TJSAMP_420;
    case JpegSampling::kGrey:
      return TJSAMP_GRAY;
  }
  throw base::InternalError("a sampling of no kind");
}

/// A libjpeg-turbo compressor and its output buffer, reused from file to file.
class JpegWriter {
 public:
  JpegWriter() : handle_(tjInitCompress()) {
    if (handle_ == nullptr) throw base::InternalError("libjpeg-turbo gives no compressor");
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() {
    tjFree(buffer_);
    tjDestroy(handle_);
  }

  void write(const SynthFile& made, const fs::path& path, base::FileSystem& files) {
    const data::Image& image = made.image;
    if (tjCompress2(handle_, image.pixels.data(), image.width, 0, image.height, TJPF_RGB, &buffer_,
                    &size_, turbojpeg_sampling(made.sampling), made.quality,
                    TJFLAG_ACCURATEDCT) != 0) {
      throw base::DataError(
          fmt::format("{}: cannot compress: {}", path.string(), tjGetErrorStr2(handle_)));
    }
    const auto file = files.create(path);
    file->write({reinterpret_cast<const char*>(buffer_), size_});
    file->close();
  }

 private:
  tjhandle handle_;
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
};

/// All classes.
void write_images(const SynthOptions& options, const fs::path& root, int num_threads,
                  base::FileSystem& files, const SynthProgress& progress) {
  for (const char* split : {"train", "val"})
    for (int c = 0; c < options.classes; ++c)
      files.create_directories(root / split / synth_class_name(options.kind, c));
  const std::int64_t per_class = options.train_per_class + options.val_per_class;
  const std::int64_t total = options.classes * per_class;
  std::mutex mutex;
  std::int64_t done = 0;
  constexpr std::int64_t kImagesPerPiece = 16;
  const std::int64_t pieces = (total + kImagesPerPiece - 1) / kImagesPerPiece;
  base::parallel_for(pieces, num_threads, [&](std::int64_t piece) {
    JpegWriter writer;
    const std::int64_t end = std::min(total, (piece + 1) * kImagesPerPiece);
    for (std::int64_t i = piece * kImagesPerPiece; i < end; ++i) {
      const int class_index = static_cast<int>(i / per_class);
      const std::int64_t index = i % per_class;
      const char* split = index < options.train_per_class ? "train" : "val";
      writer.write(make_file(options, class_index, index),
                   root / split / synth_class_name(options.kind, class_index) /
                       fmt::format("{:06}.jpg", index),
                   files);
      if (!progress) continue;
      const std::lock_guard lock(mutex);
      progress(++done, total);
    }
  });
}

}  // namespace

std::string synth_class_name(SynthKind kind, int class_index) {
  return kind == SynthKind::kDigits ? std::to_string(class_index) : scene_name(class_index);
}

bool synthesize_image_folder(const SynthOptions& options, int num_threads,
                             const SynthProgress& progress,
                             const std::shared_ptr<base::FileSystem>& files) {
  check_options(options);
  return write_synth_folder(options.path, marker_text(options), *files,
                            [&](const fs::path& folder) {
                              write_images(options, folder, num_threads, *files, progress);
                            });
}

}  // namespace paceline::dataset_tools
