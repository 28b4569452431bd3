// LocalClient: a client without a thread, for the fastest calls of one thread.
//
// It sends, receives and times out while take() waits. It makes unary calls only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <stadium/call_options.hpp>
#include <stadium/handle.hpp>
#include <stadium/method.hpp>
#include <stadium/settings.hpp>

namespace stadium {

/// A call that has ended. It is valid during the callback that it is given to.
class LocalAnswer {
  public:
    explicit LocalAnswer(const stadium_event& event) noexcept : event_(event) {}

    /// The number that was given to the call.
    [[nodiscard]] std::uint64_t tag() const noexcept { return event_.tag; }
    [[nodiscard]] bool is_ok() const noexcept { return event_.outcome == STADIUM_OK; }
    /// The bytes of the answer. Throws the outcome where it is not OK.
    [[nodiscard]] Bytes bytes() const {
        if (!is_ok()) {
            detail::throw_outcome(event_);
        }
        return detail::from_abi(event_.payload);
    }
    /// The answer. Throws the outcome where it is not OK.
    template <Message Answer>
    [[nodiscard]] Answer get() const {
        auto message = Codec<Answer>::decode(bytes());
        if (!message) {
            throw ProtocolError("the answer does not decode as the method's type");
        }
        return *std::move(message);
    }

  private:
    const stadium_event& event_;
};

/// A client of one thread.
class LocalClient {
  public:
    /// Throws InvalidArgument where an option is wrong.
    explicit LocalClient(const ClientOptions& options)
        : client_(detail::made<detail::LocalHandle>(stadium_local_new(options.json().c_str()))) {}

    /// Begins a call; it leaves when take() waits.
    template <class Request, class Answer>
    void call(const Method<Request, Answer, Interaction::unary>& method, const Request& request,
              std::uint64_t tag, const CallOptions& options = {}) {
        const auto& encoded = Codec<Request>::encode(request);
        const std::int32_t number = resolve(method.id());
        const detail::AbiOptions abi(options, tag);
        detail::checked(stadium_local_call(client_.get(), number,
                                           detail::to_abi(detail::view_of(encoded)), abi.get()));
    }

    /// Waits until a call has ended, but no longer than a time, and gives each call that has ended
    /// to the callback, a LocalAnswer. Returns how many there were. The callback may begin calls.
    /// An exception of the callback passes through, and drops the answers of the batch that it has
    /// not seen.
    template <class Callback, class Rep, class Period>
    std::size_t take(Callback&& callback, std::chrono::duration<Rep, Period> at_most) {
        using std::chrono::microseconds;
        const auto wait = std::chrono::ceil<microseconds>(at_most).count();
        return take_for(callback, static_cast<std::int64_t>(wait < 0 ? 0 : wait));
    }
    /// Waits until a call has ended, as long as it takes.
    template <class Callback>
    std::size_t take(Callback&& callback) {
        return take_for(callback, -1);
    }

  private:
    struct Known {
        stadium_method_id id;
        std::int32_t number;
    };

    std::int32_t resolve(const stadium_method_id& id) {
        // Routes are literals: the same method has the same address, as a rule. A second one only
        // costs a number.
        for (const Known& known : known_) {
            if (known.id.route == id.route && known.id.idempotent == id.idempotent) {
                return known.number;
            }
        }
        const auto number =
            static_cast<std::int32_t>(detail::checked(stadium_local_method(client_.get(), id)));
        known_.push_back({id, number});
        return number;
    }

    template <class Callback>
    std::size_t take_for(Callback& callback, std::int64_t timeout_us) {
        const std::int64_t count = detail::checked(
            stadium_local_take(client_.get(), events_.data(), events_.size(), timeout_us));
        for (std::int64_t nth = 0; nth < count; nth++) {
            callback(LocalAnswer(events_[static_cast<std::size_t>(nth)]));
        }
        return static_cast<std::size_t>(count);
    }

    detail::LocalHandle client_;
    std::vector<Known> known_;
    std::array<stadium_event, 256> events_{};
};

}  // namespace stadium
