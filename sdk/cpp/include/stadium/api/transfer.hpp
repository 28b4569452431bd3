// Transfer: an amount that is to be moved or held, written in one expression.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <stadium/v1/wallet.pb.h>

#include <stadium/api/api.hpp>
#include <stadium/api/uuid.hpp>

namespace stadium {

/// An amount of an asset, in whole minor units: 1250 for 12.50 EUR.
class Amount {
  public:
    Amount(std::uint64_t minor_units, std::string asset)
        : minor_units_(minor_units), asset_(std::move(asset)) {}

    [[nodiscard]] std::uint64_t minor_units() const noexcept { return minor_units_; }
    [[nodiscard]] const std::string& asset() const noexcept { return asset_; }

  private:
    std::uint64_t minor_units_;
    std::string asset_;
};

/// A transfer, such as `Transfer::post(Amount(250, "EUR")).from("alice").to("@shop")`. It has an id
/// from the beginning, and is booked at most once: send the same object again after an outcome that
/// does not say whether it happened. docs/wallet.md describes each kind.
class Transfer {
  public:
    /// Moves an amount now. It needs from() and to().
    [[nodiscard]] static Transfer post(const Amount& amount) {
        Transfer transfer;
        fill(*transfer.message_.mutable_post(), amount);
        return transfer;
    }
    /// Keeps an amount for a transfer that follows, for 1 s to 366 days. It needs from() and to().
    [[nodiscard]] static Transfer hold(const Amount& amount,
                                       std::chrono::milliseconds expires_after) {
        Transfer transfer;
        v1::Hold& hold = *transfer.message_.mutable_hold();
        fill(hold, amount);
        hold.set_expires_after_ms(detail::span_of(expires_after, "the time of a hold"));
        return transfer;
    }
    /// Moves all of the amount that a hold keeps.
    [[nodiscard]] static Transfer capture(const Uuid& hold) {
        Transfer transfer;
        transfer.message_.mutable_capture()->set_hold(hold.bytes());
        return transfer;
    }
    /// Moves a part of it; the rest is available again.
    [[nodiscard]] static Transfer capture(const Uuid& hold, std::uint64_t minor_units) {
        Transfer transfer = capture(hold);
        transfer.message_.mutable_capture()->set_amount(minor_units);
        return transfer;
    }
    /// Makes the amount of a hold available again. `void` is a word of the language.
    [[nodiscard]] static Transfer void_hold(const Uuid& hold) {
        Transfer transfer;
        transfer.message_.mutable_void_()->set_hold(hold.bytes());
        return transfer;
    }
    /// Moves all of a posted or captured transfer back.
    [[nodiscard]] static Transfer reverse(const Uuid& booked) {
        Transfer transfer;
        transfer.message_.mutable_reverse()->set_transfer(booked.bytes());
        return transfer;
    }

    /// The wallet that gives, of a post or a hold.
    Transfer& from(std::string wallet) {
        parties("from", [&](auto& kind) { kind.set_debit(std::move(wallet)); });
        return *this;
    }
    /// The wallet that gets.
    Transfer& to(std::string wallet) {
        parties("to", [&](auto& kind) { kind.set_credit(std::move(wallet)); });
        return *this;
    }
    /// The id. Default: a random one.
    Transfer& id(const Uuid& id) {
        message_.set_id(id.bytes());
        return *this;
    }
    /// An outside system's name for it, at most 128 bytes.
    Transfer& reference(std::string reference) {
        message_.set_reference(std::move(reference));
        return *this;
    }
    /// Anything, at most 1 KiB.
    Transfer& metadata(std::string bytes) {
        message_.set_metadata(std::move(bytes));
        return *this;
    }
    /// When it counts for the books, where that is not the time of booking.
    Transfer& effective(std::chrono::system_clock::time_point time) {
        message_.set_effective_ms(milliseconds_of(time));
        return *this;
    }

    [[nodiscard]] Uuid id() const { return Uuid::of_bytes(message_.id()); }
    [[nodiscard]] const v1::NewTransfer& message() const noexcept { return message_; }

  private:
    Transfer() { id(Uuid::random()); }

    template <class Kind>
    static void fill(Kind& kind, const Amount& amount) {
        kind.set_asset(amount.asset());
        kind.set_amount(amount.minor_units());
    }

    template <class Set>
    void parties(const char* name, Set set) {
        switch (message_.kind_case()) {
            case v1::NewTransfer::kPost: set(*message_.mutable_post()); break;
            case v1::NewTransfer::kHold: set(*message_.mutable_hold()); break;
            default:
                throw InvalidArgument(std::string(name) +
                                      "() is for posts and holds: the others have the wallets of "
                                      "the transfer that they name");
        }
    }

    v1::NewTransfer message_;
};

}  // namespace stadium
