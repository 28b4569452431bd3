// CallOptions: what one call asks for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <stadium/error.hpp>
#include <stadium/metadata.hpp>
#include <stadium/trace.hpp>

namespace stadium {

namespace detail {
class AbiOptions;
}

/// Options of a call, such as `CallOptions().deadline(200ms).key("phone-1")`. It is no aggregate:
/// g++ 12 destroys a temporary aggregate of a co_await expression in the wrong place.
class CallOptions {
  public:
    CallOptions() {}

    /// The longest that the caller waits. Default: the client's deadline.
    CallOptions& deadline(std::chrono::microseconds deadline) {
        deadline_ = deadline;
        return *this;
    }
    /// Calls with the same key go to the same instance while it lives. Default none.
    CallOptions& key(std::string key) {
        key_ = std::move(key);
        return *this;
    }
    /// Entries that are added to the request's metadata. Default none.
    CallOptions& metadata(Metadata metadata) {
        metadata_ = std::move(metadata);
        return *this;
    }
    /// Messages of a stream that may be on their way to the reader. More allows more throughput,
    /// and takes memory. Default 64.
    CallOptions& credit(std::uint32_t messages) noexcept {
        credit_ = messages;
        return *this;
    }
    [[nodiscard]] std::uint32_t credit() const noexcept { return credit_; }

  private:
    friend class detail::AbiOptions;

    std::optional<std::chrono::microseconds> deadline_;
    std::optional<std::string> key_;
    Metadata metadata_;
    std::uint32_t credit_ = 64;
};

namespace detail {

/// The options as the C ABI has them. It points into `options` and into itself.
class AbiOptions {
  public:
    AbiOptions(const CallOptions& options, std::uint64_t tag) {
        abi_.tag = tag;
        abi_.credit = options.credit_;
        if (options.deadline_) {
            if (options.deadline_->count() <= 0) {
                throw InvalidArgument("the deadline of a call is more than 0");
            }
            abi_.deadline_us = static_cast<std::uint64_t>(options.deadline_->count());
        }
        if (options.key_) {
            // An empty key is a key: its pointer is not null.
            abi_.key = to_abi(bytes_of(*options.key_));
        }
        abi_.metadata = to_abi(options.metadata_.bytes());
        if (const TraceHooks& hooks = trace_hooks(); hooks.inject) {
            if (const auto context = hooks.inject()) {
                traced_ = options.metadata_;
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
