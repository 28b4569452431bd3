// CallOptions: what one call asks for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <stadium/error.hpp>
#include <stadium/metadata.hpp>
#include <stadium/trace.hpp>

namespace stadium {

struct CallOptions {
    /// The longest that the caller waits. Default: the client's deadline.
    std::optional<std::chrono::microseconds> deadline = {};
    /// Calls with the same key go to the same instance while it lives.
    std::optional<std::string> key = {};
    /// Entries that are added to the request's metadata.
    Metadata metadata = {};
    /// Messages of a stream that may be on their way to the reader. More allows more throughput, and takes memory.
    std::uint32_t credit = 64;
};

namespace detail {

/// The options as the C ABI has them. It points into `options` and into itself.
class AbiOptions {
  public:
    AbiOptions(const CallOptions& options, std::uint64_t tag) {
        abi_.tag = tag;
        abi_.credit = options.credit;
        if (options.deadline) {
            if (options.deadline->count() <= 0) {
                throw InvalidArgument("the deadline of a call is more than 0");
            }
            abi_.deadline_us = static_cast<std::uint64_t>(options.deadline->count());
        }
        if (options.key) {
            // An empty key is a key: its pointer is not null.
            abi_.key = to_abi(bytes_of(*options.key));
        }
        abi_.metadata = to_abi(options.metadata.bytes());
        if (const TraceHooks& hooks = trace_hooks(); hooks.inject) {
            if (const auto context = hooks.inject()) {
                traced_ = options.metadata;
                add_trace(traced_, *context);
                abi_.metadata = to_abi(traced_.bytes());
            }
        }
    }
    AbiOptions(const AbiOptions&) = delete;
    AbiOptions& operator=(const AbiOptions&) = delete;

    [[nodiscard]] const stadium_options* get() const noexcept { return &abi_; }
    void tag(std::uint64_t tag) noexcept { abi_.tag = tag; }

  private:
    stadium_options abi_{};
    Metadata traced_;
};

}  // namespace detail
}  // namespace stadium
