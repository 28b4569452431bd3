// Owners of the objects of the C ABI, and of events.
//
// Nothing outside this file frees an object of the C ABI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <stadium/bytes.hpp>
#include <stadium/codec.hpp>
#include <stadium/error.hpp>

namespace stadium::detail {

/// Frees an object by a function of the C ABI.
template <auto Free>
struct Freed {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;

using QueueHandle = Owned<stadium_queue, stadium_queue_free>;
using ClientHandle = Owned<stadium_client, stadium_client_free>;
using MethodHandle = Owned<stadium_method, stadium_method_free>;
using CallHandle = Owned<stadium_call_handle, stadium_call_handle_free>;
using StreamHandle = Owned<stadium_stream, stadium_stream_free>;
using LocalHandle = Owned<stadium_local, stadium_local_free>;
using ServiceHandle = Owned<stadium_service, stadium_service_free>;
using ServerHandle = Owned<stadium_server, stadium_server_free>;
using RequestHandle = Owned<stadium_request, stadium_request_free>;
using TextHandle = Owned<char, stadium_text_free>;

/// The object, or the error for which there is none.
template <class Handle>
Handle made(typename Handle::pointer object) {
    if (object == nullptr) {
        throw_status(stadium_last_status());
    }
    return Handle(object);
}

/// An event, with its bytes.
class OwnedEvent {
  public:
    OwnedEvent() noexcept = default;
    /// Takes over the event of an array, which then owns nothing.
    explicit OwnedEvent(stadium_event& event) noexcept
        : event_(std::exchange(event, stadium_event{})) {}
    OwnedEvent(OwnedEvent&& other) noexcept
        : event_(std::exchange(other.event_, stadium_event{})) {}
    OwnedEvent& operator=(OwnedEvent&& other) noexcept {
        if (this != &other) {
            stadium_events_release(&event_, 1);
            event_ = std::exchange(other.event_, stadium_event{});
        }
        return *this;
    }
    OwnedEvent(const OwnedEvent&) = delete;
    OwnedEvent& operator=(const OwnedEvent&) = delete;
    ~OwnedEvent() { stadium_events_release(&event_, 1); }

    [[nodiscard]] const stadium_event& operator*() const noexcept { return event_; }
    [[nodiscard]] const stadium_event* operator->() const noexcept { return &event_; }
    [[nodiscard]] Bytes payload() const noexcept { return from_abi(event_.payload); }

  private:
    stadium_event event_{};
};

/// The message of an event that is OK.
template <class T>
T decoded(const OwnedEvent& event) {
    auto message = Codec<T>::decode(event.payload());
    if (!message) {
        throw ProtocolError("the message does not decode as the method's type");
    }
    return *std::move(message);
}

}  // namespace stadium::detail
