#include "paceline/app/assembly/image_values.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/comm/agreement.h"
#include "paceline/nn/image_network.h"
#include "paceline/tensor/host_tensor.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace paceline::app {

at::Tensor first_images(const data::Dataset& train_set, const Recipe& recipe,
                        const Registries& registries, std::int64_t count) {
  const bool are_images = train_set.stored_fields().empty() &&
                          !registries.datasets.build(recipe.data.source)->make_samples;
  if (!are_images) {
    throw base::ConfigError(
        fmt::format("model.name: {} starts from training images, and the samples of {} are none: "
                    "choose another model",
                    recipe.model.network.name, recipe.data.source.name));
  }
  const auto pipeline = make_pipeline(recipe.data, registries, data::Split::kVal, train_set);
  const data::ImageSize size = pipeline->output_size();
  const at::Tensor images =
      at::empty({std::min(count, train_set.size()), 3, size.height, size.width});
  data::TransformScratch scratch;
  data::StoredSample sample;
  std::int64_t num_read = 0;
  for (std::int64_t i = 0; num_read < images.size(0) && i < train_set.size(); ++i) {
    try {
      train_set.get(i, sample);
      pipeline->run(sample, {.seed = recipe.run.seed}, scratch,
                    data::PixelSink{images[num_read].data_ptr<float>()});
      ++num_read;
    } catch (const base::DataError& error) {
      if (recipe.data.on_error == data::OnError::kFail)
        throw base::DataError(data::describe_problem(train_set, i, error.what()));
    }
  }
  if (num_read == 0)
    throw base::DataError("no training image can be read, from which the model would start");
  return images.slice(0, 0, num_read);
}

parallel::FillValues with_values_of_images(parallel::FillValues fill, const nn::Network& network,
                                           const data::Dataset& train_set, const Recipe& recipe,
                                           const Registries& registries,
                                           comm::Communicator& communicator) {
  const auto* const of_images = dynamic_cast<const nn::ImageNetwork*>(&network);
  if (of_images == nullptr || of_images->num_first_images() == 0 || recipe.model.pretrained)
    return fill;
  auto values = std::make_shared<std::map<std::string, at::Tensor>>();
  comm::first_rank_decides(communicator, [&] {  // who alone is asked to fill parameters
    *values = of_images->values_of_images(
        first_images(train_set, recipe, registries, of_images->num_first_images()));
    return "";
  });
  return [=](const nn::NamedTensor& parameter) {
    const auto found = values->find(parameter.name);
    if (found == values->end()) return fill(parameter);
    tensor::fill_on_host(parameter.tensor,
                         [&](const at::Tensor& host) { host.copy_(found->second); });
  };
}

}  // namespace paceline::app
