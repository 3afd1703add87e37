#include "paceline/comm/c10d/run_store.h"

#include "paceline/base/error.h"
#include "paceline/base/keyed_hash.h"

#include <string_view>
#include <utility>

namespace paceline::comm {
namespace {

constexpr std::size_t kSealLength = 32;  // hexadecimal digits: 128 bits

}  // namespace

RunStore::RunStore(c10::intrusive_ptr<c10d::Store> store, std::string run_id)
    : Store(store->getTimeout()), store_(std::move(store)), run_id_(std::move(run_id)) {}

std::string RunStore::name_of(const std::string& key) const {
  return base::hmac_sha256_hex(run_id_, "key " + key).substr(0, kSealLength);
}

std::vector<std::string> RunStore::names_of(const std::vector<std::string>& keys) const {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const std::string& key : keys) names.push_back(name_of(key));
  return names;
}

std::string RunStore::seal_of(const std::string& key,
                              const std::vector<std::uint8_t>& value) const {
  const std::string text =
      fmt::format("value {} {} ", key.size(), key) + std::string(value.begin(), value.end());
  return base::hmac_sha256_hex(run_id_, text).substr(0, kSealLength);
}

c10::intrusive_ptr<c10d::Store> RunStore::clone() {
  return c10::make_intrusive<RunStore>(store_->clone(), run_id_);
}

std::vector<std::uint8_t> RunStore::sealed(const std::string& key,
                                           const std::vector<std::uint8_t>& value) const {
  PACELINE_CHECK(value.size() <= kLongestValue, "a value of {} bytes for the store", value.size());
  const std::string seal = seal_of(key, value);
  std::vector<std::uint8_t> sealed(seal.begin(), seal.end());
  sealed.insert(sealed.end(), value.begin(), value.end());
  return sealed;
}

std::vector<std::uint8_t> RunStore::opened(const std::string& key,
                                           const std::vector<std::uint8_t>& sealed) const {
  if (sealed.size() >= kSealLength && sealed.size() <= kSealLength + kLongestValue) {
    const auto end = sealed.begin() + kSealLength;
    std::vector<std::uint8_t> value(end, sealed.end());
    if (base::equal_in_constant_time(std::string(sealed.begin(), end), seal_of(key, value)))
      return value;
  }
  throw base::CommError(
      fmt::format("'{}' in the ranks' store was not written by a rank of this run: another program "
                  "on the network writes there; keep strangers away from the store's port",
                  key));
}

void RunStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  store_->set(name_of(key), sealed(key, value));
}

std::vector<std::uint8_t> RunStore::get(const std::string& key) {
  return opened(key, store_->get(name_of(key)));
}

std::vector<std::vector<std::uint8_t>> RunStore::multiGet(const std::vector<std::string>& keys) {
  auto values = store_->multiGet(names_of(keys));
  PACELINE_CHECK(values.size() == keys.size(), "{} values for {} keys", values.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) values[i] = opened(keys[i], values[i]);
  return values;
}

void RunStore::multiSet(const std::vector<std::string>& keys,
                        const std::vector<std::vector<std::uint8_t>>& values) {
  std::vector<std::vector<std::uint8_t>> all_sealed;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    all_sealed.push_back(sealed(keys[i], values.at(i)));
  }
  store_->multiSet(names_of(keys), all_sealed);
}

std::int64_t RunStore::add(const std::string& key, std::int64_t value) {
  return store_->add(name_of(key), value);
}

void RunStore::append(const std::string& key, const std::vector<std::uint8_t>& /*value*/) {
  throw base::InternalError(fmt::format("cannot append to '{}', which is sealed", key));
}

bool RunStore::deleteKey(const std::string& key) { return store_->deleteKey(name_of(key)); }

bool RunStore::check(const std::vector<std::string>& keys) { return store_->check(names_of(keys)); }

std::int64_t RunStore::getNumKeys() { return store_->getNumKeys(); }

void RunStore::wait(const std::vector<std::string>& keys) { store_->wait(names_of(keys)); }

void RunStore::wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) {
  store_->wait(names_of(keys), timeout);
}

const std::chrono::milliseconds& RunStore::getTimeout() const noexcept {
  return store_->getTimeout();
}

void RunStore::setTimeout(const std::chrono::milliseconds& timeout) { store_->setTimeout(timeout); }

}  // namespace paceline::comm
