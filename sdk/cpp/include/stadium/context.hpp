// Context, Sender and Receiver: what a service's function gets beside its request.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <stadium/pipe_awaiters.hpp>
#include <stadium/server_request.hpp>

namespace stadium {

/// What is known of a request. Cheap to copy; its views are valid as long as it, or a copy of it.
class Context {
  public:
    explicit Context(detail::RequestShare request) noexcept : request_(std::move(request)) {}

    /// SERVICE/METHOD.
    [[nodiscard]] std::string_view route() const noexcept { return request_->route(); }
    /// The time at which the caller waits no longer.
    [[nodiscard]] std::chrono::steady_clock::time_point deadline() const noexcept {
        return request_->deadline();
    }
    /// The time until then; 0 where it has passed.
    [[nodiscard]] std::chrono::microseconds time_left() const noexcept {
        const auto left = deadline() - std::chrono::steady_clock::now();
        return std::max(std::chrono::duration_cast<std::chrono::microseconds>(left),
                        std::chrono::microseconds(0));
    }
    /// Whether nobody waits for the answer any more: the caller gave up or disconnected, or the
    /// deadline passed. A function that computes for long asks from time to time.
    [[nodiscard]] bool cancelled() const {
        return request_->is_cancelled() || time_left().count() == 0;
    }
    /// The affinity key.
    [[nodiscard]] std::optional<std::string_view> key() const noexcept {
        return optional(stadium_request_key(request_->abi()));
    }
    /// The bearer token that the caller showed.
    [[nodiscard]] std::optional<std::string_view> bearer() const noexcept {
        return optional(stadium_request_bearer(request_->abi()));
    }
    /// The composite metadata as it came; see metadata_entry().
    [[nodiscard]] Bytes metadata() const noexcept {
        return detail::from_abi(stadium_request_metadata(request_->abi()));
    }

  private:
    static std::optional<std::string_view> optional(const stadium_bytes& bytes) noexcept {
        if (bytes.data == nullptr) {
            return std::nullopt;
        }
        return text_of(detail::from_abi(bytes));
    }

    detail::RequestShare request_;
};

/// Sends the answers of a stream or a channel, within the caller's credit. Cheap to copy. The
/// stream ends when the function returns.
template <Message Answer>
class Sender {
  public:
    explicit Sender(detail::RequestShare request) noexcept : request_(std::move(request)) {}

    /// Sends a message; blocks while 64 messages wait for the caller. Throws Cancelled where nobody
    /// waits any more.
    void send(const Answer& message) const {
        const auto& encoded = Codec<Answer>::encode(message);
        request_->send(detail::view_of(encoded));
    }
    /// Sends a message when it is awaited. The message lives until then.
    SendAwaiter<Answer> async_send(const Answer& message) const {
        return SendAwaiter<Answer>(request_, message, Executor());
    }

  private:
    detail::RequestShare request_;
};

/// Receives the requests of a channel. One thread or coroutine at a time reads.
template <Message Request>
class Receiver {
  public:
    explicit Receiver(detail::RequestShare request) noexcept : request_(std::move(request)) {}

    /// Blocks until there is a message, and returns it; nothing after the caller's last one. Throws
    /// Cancelled where nobody waits any more. A message that borrows its bytes is valid until the
    /// next read.
    [[nodiscard]] std::optional<Request> read() {
        request_->wait_readable(std::nullopt);
        last_ = request_->take();
        return last_ ? std::optional<Request>(request_->template decoded<Request>(*last_))
                     : std::nullopt;
    }
    /// The next message, for co_await; nothing after the caller's last one.
    NextAwaiter<Request> next() requires(!BorrowedMessage<Request>) {
        return NextAwaiter<Request>(request_, Executor());
    }

  private:
    detail::RequestShare request_;
    std::optional<detail::OwnedEvent> last_;
};

}  // namespace stadium
