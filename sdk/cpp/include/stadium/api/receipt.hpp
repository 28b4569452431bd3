// Checks a receipt of a transfer without the books: by a root that was published and kept.
//
// `stadium wallet receipt` makes receipts. docs/audit.md describes the format and what it proves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stadium/api/json_reader.hpp>
#include <stadium/api/sha256.hpp>
#include <stadium/api/uuid.hpp>
#include <stadium/api/wallet_event.hpp>

namespace stadium {

/// The receipt proves nothing.
class InvalidReceipt : public Error {
  public:
    explicit InvalidReceipt(const std::string& text) : Error(text, false) {}
};

/// What a receipt proves.
struct ProvedTransfer {
    Uuid transfer;
    /// post, capture, reverse, hold or void.
    std::string kind;
    std::string debit;
    std::string credit;
    std::string asset;
    /// Digits behind the asset's point.
    std::uint8_t scale = 0;
    /// In minor units.
    std::uint64_t amount = 0;
    std::chrono::system_clock::time_point booked_at;
    std::uint64_t seal = 0;
    Hash root{};
};

namespace detail {

/// The largest receipt that is read: 10,000 trees, and paths.
inline constexpr std::size_t receipt_bytes_max = 4 << 20;

inline std::string bytes_of_hex(std::string_view text) {
    const auto digit_of = [](char digit) {
        if (digit >= '0' && digit <= '9') return digit - '0';
        if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
        if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
        throw InvalidReceipt("a text has no hexadecimal digits");
    };
    if (text.size() % 2 != 0) {
        throw InvalidReceipt("a text has an odd number of hexadecimal digits");
    }
    std::string bytes;
    for (std::size_t at = 0; at < text.size(); at += 2) {
        bytes += static_cast<char>(digit_of(text[at]) << 4 | digit_of(text[at + 1]));
    }
    return bytes;
}

inline Hash hash_of_hex(std::string_view text) {
    const std::string bytes = bytes_of_hex(text);
    Hash hash;
    if (bytes.size() != hash.size()) {
        throw InvalidReceipt("a hash has not 64 hexadecimal digits");
    }
    std::copy(bytes.begin(), bytes.end(), hash.begin());
    return hash;
}

inline std::string_view view_of_hash(const Hash& hash) noexcept {
    return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

/// Eight bytes, little-endian.
inline std::string little_endian(std::uint64_t number) {
    std::string bytes;
    for (int byte = 0; byte < 8; byte++) {
        bytes += static_cast<char>(number >> (8 * byte) & 0xFF);
    }
    return bytes;
}

/// The byte in front of what is hashed, which names its kind.
inline constexpr std::string_view leaf_tag{"\0", 1}, node_tag{"\1", 1}, chain_tag{"\2", 1},
    seal_tag{"\4", 1};

/// From a leaf to the root of a tree of so many leaves: RFC 9162, 2.1.3. Nothing where the path has
/// another length than such a tree needs.
inline std::optional<Hash> climb(Hash hash, std::uint64_t index, std::uint64_t leaves,
                                 const std::vector<Hash>& path) {
    if (index >= leaves) {
        return std::nullopt;
    }
    std::uint64_t last = leaves - 1;
    for (const Hash& sister : path) {
        if (last == 0) {
            return std::nullopt;
        }
        if (index % 2 == 1 || index == last) {
            hash = sha256({node_tag, view_of_hash(sister), view_of_hash(hash)});
            // The last leaf of an odd row goes up alone until it has a sister.
            while (index % 2 == 0 && index != 0) {
                index /= 2;
                last /= 2;
            }
        } else {
            hash = sha256({node_tag, view_of_hash(hash), view_of_hash(sister)});
        }
        index /= 2;
        last /= 2;
    }
    return last == 0 ? std::optional<Hash>(hash) : std::nullopt;
}

inline Hash seal_root(const Hash& before, std::uint64_t seal, const Hash& tree) {
    return sha256({seal_tag, view_of_hash(before), little_endian(seal), view_of_hash(tree)});
}

/// The members of an object, each of which is read once and must be known.
class ReceiptFields {
  public:
    explicit ReceiptFields(const JsonValue& value)
        : members_(value.as<JsonValue::Object>("the receipt")) {}

    std::uint64_t number(const char* name) { return field(name).as<std::uint64_t>(name); }
    const std::string& text(const char* name) { return field(name).as<std::string>(name); }
    const JsonValue::List& list(const char* name) { return field(name).as<JsonValue::List>(name); }
    Hash hash(const char* name) { return hash_of_hex(text(name)); }
    std::vector<Hash> hashes(const char* name) {
        std::vector<Hash> hashes;
        for (const JsonValue& item : list(name)) {
            hashes.push_back(hash_of_hex(item.as<std::string>(name)));
        }
        return hashes;
    }
    void end() const {
        if (read_.size() != members_.size()) {
            throw InvalidReceipt("the receipt has a field that is not known");
        }
    }

  private:
    const JsonValue& field(const char* name) {
        const auto found = members_.find(name);
        if (found == members_.end()) {
            throw InvalidReceipt(std::string("the receipt has no field ") + name);
        }
        read_.insert(name);
        return found->second;
    }

    const JsonValue::Object& members_;
    std::set<std::string> read_;
};

/// That an event stands under the root of a seal.
struct ReceiptProof {
    std::string event;
    std::uint64_t time = 0;
    std::uint64_t seal = 0;
    /// Nothing where a path has the wrong length.
    std::optional<Hash> root;

    explicit ReceiptProof(const JsonValue& value) {
        ReceiptFields fields(value);
        event = bytes_of_hex(fields.text("event"));
        time = fields.number("time");
        seal = fields.number("seal");
        const auto digest = climb(sha256({leaf_tag, event}), fields.number("event_index"),
                                  fields.number("events"), fields.hashes("event_path"));
        const Hash chain_before = fields.hash("chain_before");
        const std::uint64_t record_index = fields.number("record_index");
        const std::uint64_t records = fields.number("records");
        const std::vector<Hash> record_path = fields.hashes("record_path");
        const Hash root_before = fields.hash("root_before");
        fields.end();
        if (!digest) {
            return;
        }
        const Hash chain = sha256(
            {chain_tag, view_of_hash(chain_before), view_of_hash(*digest), little_endian(time)});
        const auto tree =
            climb(sha256({leaf_tag, view_of_hash(chain)}), record_index, records, record_path);
        if (tree) {
            root = seal_root(root_before, seal, *tree);
        }
    }
};

/// Reads a receipt, and checks it.
class ReceiptCheck {
  public:
    ReceiptCheck(std::string_view json, const std::vector<Hash>& published)
        : published_(published.begin(), published.end()) {
        const JsonValue value = JsonReader::read(json);
        ReceiptFields fields(value);
        if (const std::uint64_t version = fields.number("version"); version != 1) {
            throw InvalidReceipt("the receipt has version " + std::to_string(version) +
                                 "; known is 1");
        }
        // Labels, which are not proved.
        fields.text("transfer");
        fields.number("shard");
        seal_ = fields.number("seal");
        root_ = fields.hash("root");
        trees_ = fields.hashes("trees");
        for (const JsonValue& proof : fields.list("proofs")) {
            proofs_.emplace_back(proof);
        }
        fields.end();
    }

    [[nodiscard]] ProvedTransfer proved() const {
        if (!published_.contains(root_)) {
            throw InvalidReceipt("its root " + hex_of_hash(root_) + " is none that was published");
        }
        std::vector<WalletEvent> events;
        for (const ReceiptProof& proof : proofs_) {
            if (!proof.root) {
                throw InvalidReceipt("a path has the wrong length");
            }
            if (!published_.contains(*proof.root) && later_root(proof) != root_) {
                throw InvalidReceipt("a proof does not lead to the root of seal " +
                                     std::to_string(seal_));
            }
            events.push_back(WalletEvent::read(proof.event));
        }
        return read(events);
    }

  private:
    /// The root of the receipt's seal, from that of an earlier one.
    [[nodiscard]] std::optional<Hash> later_root(const ReceiptProof& proof) const {
        if (proof.seal > seal_ || seal_ - proof.seal > trees_.size()) {
            return std::nullopt;
        }
        Hash root = *proof.root;
        for (std::uint64_t seal = proof.seal + 1; seal <= seal_ && seal != 0; seal++) {
            root = seal_root(root, seal, trees_[trees_.size() - 1 - (seal_ - seal)]);
        }
        return root;
    }

    /// The content of the events, which were proved.
    [[nodiscard]] ProvedTransfer read(const std::vector<WalletEvent>& events) const {
        using Kind = WalletEvent::Kind;
        if (events.empty() || events[0].kind == Kind::other || events[0].kind == Kind::asset ||
            events[0].kind == Kind::opened) {
            throw InvalidReceipt("its first proof is of no transfer");
        }
        const WalletEvent& moved = events[0];
        const auto find = [&](Kind kind, std::uint64_t WalletEvent::*member,
                              std::uint64_t wanted) -> const WalletEvent& {
            for (const WalletEvent& event : events) {
                if (event.kind == kind && event.*member == wanted) {
                    return event;
                }
            }
            throw InvalidReceipt("nothing proves what account or asset " + std::to_string(wanted) +
                                 " is");
        };
        const auto wallet_of = [&](std::uint64_t account) {
            const std::string& wallet = find(Kind::opened, &WalletEvent::account, account).name;
            return wallet == "@transit" && moved.other ? *moved.other : wallet;
        };
        const std::uint64_t asset = find(Kind::opened, &WalletEvent::account, moved.debit).asset;
        const WalletEvent& declared = find(Kind::asset, &WalletEvent::asset, asset);
        ProvedTransfer proved;
        proved.transfer = moved.id;
        proved.kind = name_of(moved.kind);
        proved.debit = wallet_of(moved.debit);
        proved.credit = moved.credit ? wallet_of(*moved.credit) : moved.other.value_or("");
        proved.asset = declared.name;
        proved.scale = declared.scale;
        proved.amount = moved.amount;
        proved.booked_at =
            std::chrono::system_clock::time_point(std::chrono::milliseconds(proofs_[0].time));
        proved.seal = seal_;
        proved.root = root_;
        return proved;
    }

    static const char* name_of(WalletEvent::Kind kind) noexcept {
        switch (kind) {
            case WalletEvent::Kind::capture: return "capture";
            case WalletEvent::Kind::reverse: return "reverse";
            case WalletEvent::Kind::hold: return "hold";
            case WalletEvent::Kind::voided: return "void";
            default: return "post";
        }
    }

    std::set<Hash> published_;
    std::uint64_t seal_ = 0;
    Hash root_{};
    std::vector<Hash> trees_;
    std::vector<ReceiptProof> proofs_;
};

}  // namespace detail

/// The hash of 64 hexadecimal digits, such as a root. Throws InvalidReceipt.
inline Hash parse_hash(std::string_view hex) {
    return detail::hash_of_hex(hex);
}

/// Checks a receipt, JSON, against roots that were published: that of its seal and, where the
/// receipt names them, those of earlier ones. Take the roots from elsewhere than the receipt.
/// Throws InvalidReceipt where it proves nothing.
inline ProvedTransfer check_receipt(std::string_view json, const std::vector<Hash>& published) {
    if (json.size() > detail::receipt_bytes_max) {
        throw InvalidReceipt("the receipt is longer than any receipt");
    }
    try {
        return detail::ReceiptCheck(json, published).proved();
    } catch (const detail::NoJson& error) {
        throw InvalidReceipt(error.what());
    } catch (const detail::NoEvent& error) {
        throw InvalidReceipt(error.what());
    }
}

}  // namespace stadium
