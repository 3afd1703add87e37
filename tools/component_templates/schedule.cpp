#include "paceline/optim/new_part.h"

namespace paceline::optim {
namespace {

class NewPart final : public Schedule {
 public:
  explicit NewPart(const NewPartConfig& config) : config_(config) {}
  std::string_view name() const override { return "new_part"; }
  double factor(std::int64_t step) const override {
    return 1.0 / (1.0 + config_.decay * static_cast<double>(step));
  }

 private:
  NewPartConfig config_;
};

}  // namespace

std::unique_ptr<Schedule> make(const NewPartConfig& config, const RunLength& /*length*/) {
  return std::make_unique<NewPart>(config);
}

}  // namespace paceline::optim
