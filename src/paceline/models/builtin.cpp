#include "paceline/models/builtin.h"

#include "paceline/models/ct_cascade/ct_cascade.h"
#include "paceline/models/resnet/named_resnets.h"
#include "paceline/models/vit/named_vits.h"

namespace paceline::models {

void add_builtin(Registry& registry) {
  add_resnets(registry);
  add_vits(registry);
  add_convnexts(registry);
  add_mobilenets(registry);
  add_efficientnets(registry);
  registry.add<Airbench94Config>();
  registry.add<CtCascadeConfig>();
}

}  // namespace paceline::models
