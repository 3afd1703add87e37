#include "paceline/launcher/children/last_words.h"

#include "paceline/base/text.h"

namespace paceline::launcher {

std::string last_words(std::string_view printed) {
  constexpr std::string_view kError = "error: ";
  const std::string text(base::trim(printed));
  const std::size_t error = text.rfind(kError);
  return error == std::string::npos ? text.substr(text.rfind('\n') + 1)
                                    : text.substr(error + kError.size());
}

}  // namespace paceline::launcher
