#include "paceline/app/prediction/picture_folder.h"

#include "paceline/loggers/picture_files.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"

#include <utility>

namespace paceline::app {

PictureFolder::PictureFolder(base::FileSystem& files, std::filesystem::path folder,
                             const train::CtDiffusion& task, const data::Dataset& dataset,
                             at::Device place)
    : files_(files), folder_(std::move(folder)), task_(task), dataset_(dataset), place_(place) {
  base::create_durable_directories(files_, folder_);
}

std::vector<std::string> PictureFolder::inputs() {
  return {std::string(train::kXrays), std::string(train::kVolume)};
}

void PictureFolder::add(const train::Predictions& predictions) {
  for (std::size_t i = 0; i < predictions.indices.size(); ++i) {
    tensor::Fields patient;
    for (const auto& [name, tensor] : predictions.fields) {
      if (name != train::kSamples)  // which are large, and not shown
        patient.set(name, tensor[static_cast<std::int64_t>(i)].to(place_));
    }
    for (metrics::Picture& picture : task_.pictures_of_prediction(patient)) {
      picture.name = dataset_.name(predictions.indices[i]) + "/" + picture.name;
      loggers::write_picture(files_, folder_, picture);
    }
  }
}

}  // namespace paceline::app
