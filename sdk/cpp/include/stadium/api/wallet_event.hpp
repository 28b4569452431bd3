// The events of the wallets' journal that a receipt proves: docs/formats/wallet-events.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stadium/api/uuid.hpp>

namespace stadium::detail {

/// The bytes are no event that this version knows.
class NoEvent : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class EventReader {
  public:
    explicit EventReader(std::string_view bytes) noexcept : rest_(bytes) {}

    std::string_view take(std::uint64_t size) {
        if (size > rest_.size()) {
            throw NoEvent("an event ends too early");
        }
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
    /// LEB128.
    std::uint64_t number() {
        std::uint64_t number = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = byte();
            if (shift == 63 && next > 1) {
                break;
            }
            number |= static_cast<std::uint64_t>(next & 0x7F) << shift;
            if ((next & 0x80) == 0) {
                return number;
            }
        }
        throw NoEvent("a number of an event has no end");
    }
    std::string text() { return std::string(take(number())); }
    Uuid id() { return Uuid::of_bytes(take(16)); }
    /// A byte of flags, of which only these are known.
    std::uint8_t flags(std::uint8_t known) {
        const std::uint8_t flags = byte();
        if ((flags & ~known) != 0) {
            throw NoEvent("an event has unknown flags");
        }
        return flags;
    }
    void end() const {
        if (!rest_.empty()) {
            throw NoEvent("an event goes on behind its end");
        }
    }

  private:
    std::string_view rest_;
};

/// An event that declares an asset, opens an account, or moves, holds or voids an amount. The
/// members that its kind has not are empty.
struct WalletEvent {
    enum class Kind { asset, opened, post, capture, reverse, hold, voided, other };

    Kind kind = Kind::other;
    /// Of an asset and an account.
    std::uint64_t asset = 0;
    std::uint64_t account = 0;
    std::uint8_t scale = 0;
    /// The asset's code, or the account's wallet.
    std::string name;
    /// Of a transfer.
    Uuid id;
    std::uint64_t amount = 0;
    std::uint64_t debit = 0;
    std::optional<std::uint64_t> credit;
    /// The wallet of another shard.
    std::optional<std::string> other;

    static WalletEvent read(std::string_view bytes) {
        EventReader from(bytes);
        WalletEvent event;
        switch (from.byte()) {
            case 1: event.read_asset(from); break;
            case 2: event.read_opened(from); break;
            case 4: event.read_moved(from); break;
            case 5:
                event.read_promise(from, Kind::hold);
                from.number();
                break;
            case 6: event.read_promise(from, Kind::voided); break;
            default: return event;
        }
        from.end();
        return event;
    }

  private:
    static constexpr std::uint8_t of = 1, reference = 2, metadata = 4, effective = 8,
                                  other_wallet = 16, of_group = 32, all_flags = 63;

    void read_asset(EventReader& from) {
        kind = Kind::asset;
        asset = from.number();
        scale = from.byte();
        name = from.text();
    }
    void read_opened(EventReader& from) {
        kind = Kind::opened;
        account = from.number();
        asset = from.number();
        if ((from.flags(7) & 2) != 0) {
            from.number();
        }
        name = from.text();
    }
    void read_moved(EventReader& from) {
        const std::uint8_t flags = from.flags(all_flags);
        switch (from.byte()) {
            case 0: kind = Kind::post; break;
            case 1: kind = Kind::capture; break;
            case 2: kind = Kind::reverse; break;
            default: throw NoEvent("a transfer is of no known kind");
        }
        read_head(from, flags);
        debit = from.number();
        skip_entry(from);
        credit = from.number();
        skip_entry(from);
        read_more(from, flags);
    }
    void read_promise(EventReader& from, Kind promised) {
        kind = promised;
        const std::uint8_t flags = from.flags(all_flags);
        read_head(from, flags);
        debit = from.number();
        if ((flags & other_wallet) == 0) {
            credit = from.number();
        }
        read_more(from, flags);
    }
    void read_head(EventReader& from, std::uint8_t flags) {
        id = from.id();
        if ((flags & of_group) == 0) {
            from.take(8);
        }
        amount = from.number();
    }
    void read_more(EventReader& from, std::uint8_t flags) {
        if ((flags & of) != 0) from.id();
        if ((flags & other_wallet) != 0) other = from.text();
        if ((flags & reference) != 0) from.text();
        if ((flags & metadata) != 0) from.text();
        if ((flags & effective) != 0) from.number();
    }
    static void skip_entry(EventReader& from) {
        const std::uint64_t number = from.number();
        from.number();
        from.number();
        for (const std::uint64_t jump : {64ULL, 4096ULL, 262144ULL, 16777216ULL}) {
            if (number % jump == 0) {
                from.number();
            }
        }
    }
};

}  // namespace stadium::detail
