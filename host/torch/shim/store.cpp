// The store in which ranks leave notes for each other before and beside their collectives.
#include "dist.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <optional>
#include <string>

using namespace hookrack;

extern "C" {

// Connects to the store at `host`:`port`; the server is started first where `is_server`, on the listening socket `listener` (whose
// owner it becomes) unless that is negative. Nobody waits for the others here.
char* hrt_store_connect(const char* host, uint16_t port, bool is_server, int listener, uint64_t timeout_ms,
                        Store** out) {
  return guarded([&] {
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = is_server;
    if (listener >= 0) options.masterListenFd = listener;
    options.waitWorkers = false;
    options.timeout = std::chrono::milliseconds(timeout_ms);
    *out = new Store{c10::make_intrusive<c10d::TCPStore>(std::string(host), options)};
  });
}

// Another connection to the same store, for another thread.
char* hrt_store_clone(Store* store, Store** out) {
  return guarded([&] { *out = new Store{store->it->clone()}; });
}

// The same store, with every key below `prefix`.
char* hrt_store_prefix(Store* store, const char* prefix, Store** out) {
  return guarded([&] { *out = new Store{c10::make_intrusive<c10d::PrefixStore>(prefix, store->it)}; });
}

void hrt_store_free(Store* store) noexcept { delete store; }

char* hrt_store_set(Store* store, const char* key, const uint8_t* bytes, size_t length) {
  return guarded([&] { store->it->set(key, std::vector<uint8_t>(bytes, bytes + length)); });
}

// Adds to a counter and gives its new value.
char* hrt_store_add(Store* store, const char* key, int64_t amount, int64_t* out) {
  return guarded([&] { *out = store->it->add(key, amount); });
}

char* hrt_store_has(Store* store, const char* key, bool* out) {
  return guarded([&] { *out = store->it->check({key}); });
}

// Lends the values of several keys to `take`, one after the other, in one round trip; waits for those that are missing.
char* hrt_store_get_all(Store* store, const char* const* keys, size_t count,
                        void (*take)(void*, const uint8_t*, size_t), void* taker) {
  return guarded([&] {
    for (const auto& value : store->it->multiGet(std::vector<std::string>(keys, keys + count))) {
      take(taker, value.data(), value.size());
    }
  });
}

// Waits for a key, and lends its value to `take`.
char* hrt_store_get(Store* store, const char* key, uint64_t timeout_ms, void (*take)(void*, const uint8_t*, size_t),
                    void* taker) {
  return guarded([&] {
    store->it->wait({key}, std::chrono::milliseconds(timeout_ms));
    const auto value = store->it->get(key);
    take(taker, value.data(), value.size());
  });
}

}  // extern "C"
