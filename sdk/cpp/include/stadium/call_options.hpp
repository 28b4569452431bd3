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
    /// The reader gives credit itself, by Stream::request. Default: reading a message gives it
    /// back.
    CallOptions& credit_by_hand() noexcept {
        credit_by_hand_ = true;
        return *this;
    }
    [[nodiscard]] bool is_credit_by_hand() const noexcept { return credit_by_hand_; }
    /// A bearer token of this call. Use it with a client that has none of its own. Default none.
    CallOptions& bearer(std::string token) {
        bearer_ = std::move(token);
        return *this;
    }

  private:
    friend class detail::AbiOptions;

    std::optional<std::chrono::microseconds> deadline_;
    std::optional<std::string> key_;
    Metadata metadata_;
    std::uint32_t credit_ = 64;
    bool credit_by_hand_ = false;
    std::optional<std::string> bearer_;
};

namespace detail {

/// RSocket's entry message/x.rsocket.authentication.v0, and its type "bearer".
inline constexpr std::uint8_t authentication_id = 0x7C;
inline constexpr char bearer_type = static_cast<char>(0x81);

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
        if (options.bearer_) {
            extended(options).add(authentication_id, bytes_of(bearer_type + *options.bearer_));
        }
        if (const TraceHooks& hooks = trace_hooks(); hooks.inject) {
            if (const auto context = hooks.inject()) {
                add_trace(extended(options), *context);
            }
        }
        if (!extended_.empty()) {
            abi_.metadata = to_abi(extended_.bytes());
        }
    }
    AbiOptions(const AbiOptions&) = delete;
    AbiOptions& operator=(const AbiOptions&) = delete;

    [[nodiscard]] const stadium_options* get() const noexcept { return &abi_; }
    void tag(std::uint64_t tag) noexcept { abi_.tag = tag; }

  private:
    /// The call's own entries, to which others are added.
    Metadata& extended(const CallOptions& options) {
        if (extended_.empty()) {
            extended_ = options.metadata_;
        }
        return extended_;
    }

    stadium_options abi_{};
    Metadata extended_;
};

}  // namespace detail
}  // namespace stadium
