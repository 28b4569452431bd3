// NewPush: a push that is to be sent, written in one expression.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <stadium/v1/push.pb.h>

#include <stadium/api/api.hpp>
#include <stadium/api/uuid.hpp>

namespace stadium {

/// A push, such as `NewPush::to_device("phone-7").title("Doors open").expiry(1h)`. It has an id
/// from the beginning: the same object sent again is the same push. docs/push.md says what the
/// options do.
class NewPush {
  public:
    /// For one device, opted in or not.
    [[nodiscard]] static NewPush to_device(std::string device) {
        NewPush push;
        push.message_.set_device(std::move(device));
        return push;
    }
    /// For a saved audience, as it is when the push starts.
    [[nodiscard]] static NewPush to_saved(std::string audience) {
        NewPush push;
        push.message_.set_saved(std::move(audience));
        return push;
    }
    /// For the devices that a selector selects: JSON of docs/audiences.md, such as
    /// `{"tag": "vip"}`.
    [[nodiscard]] static NewPush to_selector(std::string json) {
        NewPush push;
        push.message_.set_selector(std::move(json));
        return push;
    }
    /// For all devices that want pushes.
    [[nodiscard]] static NewPush to_all() { return to_selector("\"all\""); }

    /// The id. Default: a random one.
    NewPush& id(const Uuid& id) {
        message_.set_id(id.bytes());
        return *this;
    }
    /// Texts of a notification. They may hold {{name}} and {{name|instead}}: attributes of the
    /// device.
    NewPush& title(std::string text) {
        words().set_title(std::move(text));
        return *this;
    }
    NewPush& body(std::string text) {
        words().set_body(std::move(text));
        return *this;
    }
    /// For the application: one JSON value.
    NewPush& data(std::string json) {
        words().set_data(std::move(json));
        return *this;
    }
    /// Bytes that pass through as they are, instead of a notification.
    NewPush& payload(std::string bytes, std::string content_type = {}) {
        message_.mutable_message()->set_payload(std::move(bytes));
        message_.mutable_message()->set_content_type(std::move(content_type));
        return *this;
    }
    /// Devices that come later than so long after its start do not get it. Default: as the app's
    /// settings say.
    NewPush& expiry(std::chrono::milliseconds expiry) {
        message_.mutable_options()->set_expiry_ms(detail::span_of(expiry, "the expiry"));
        return *this;
    }
    /// 0 to 9. Default 4.
    NewPush& priority(std::uint32_t priority) {
        message_.mutable_options()->set_priority(priority);
        return *this;
    }
    /// A newer push with the same key replaces an older one that a device has not received.
    NewPush& collapse_key(std::string key) {
        message_.mutable_options()->set_collapse_key(std::move(key));
        return *this;
    }
    /// Devices a second. Default: as fast as it can.
    NewPush& per_second(std::uint32_t devices) {
        message_.mutable_options()->set_per_second(devices);
        return *this;
    }
    /// When it starts. Default: at once.
    NewPush& at(std::chrono::system_clock::time_point time) {
        message_.set_at_ms(milliseconds_of(time));
        return *this;
    }

    /// The whole message, for everything that has no function here.
    [[nodiscard]] v1::NewPush& message() noexcept { return message_; }
    [[nodiscard]] const v1::NewPush& message() const noexcept { return message_; }
    [[nodiscard]] Uuid id() const { return Uuid::of_bytes(message_.id()); }

  private:
    NewPush() { id(Uuid::random()); }

    v1::Words& words() { return *message_.mutable_notification()->mutable_words(); }

    v1::NewPush message_;
};

}  // namespace stadium
