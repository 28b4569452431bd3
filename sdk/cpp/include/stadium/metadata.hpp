// Composite metadata: entries that travel with a request beside its message.
//
//   1 byte   0x80 | well-known id          or   length of the name less one
//   n bytes                                      the name, ASCII
//   3 bytes  length of the content, big-endian
//   n bytes  content
//
// RSocket's extension "Composite Metadata".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <stadium/bytes.hpp>
#include <stadium/error.hpp>

namespace stadium {

/// Entries to send.
class Metadata {
  public:
    /// Adds an entry of a named type, such as "message/x.example.tenant".
    Metadata& add(std::string_view type, Bytes content) {
        if (type.empty() || type.size() > 128) {
            throw InvalidArgument("the type of a metadata entry has 1 to 128 characters");
        }
        bytes_.push_back(static_cast<char>(type.size() - 1));
        bytes_.append(type);
        return add_content(content);
    }
    Metadata& add(std::string_view type, std::string_view content) {
        return add(type, bytes_of(content));
    }

    /// Adds an entry of a well-known type, by its id: 0 to 127.
    Metadata& add(std::uint8_t id, Bytes content) {
        bytes_.push_back(static_cast<char>(0x80 | id));
        return add_content(content);
    }

    /// The entries as they are sent.
    [[nodiscard]] Bytes bytes() const noexcept { return bytes_of(bytes_); }
    [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

  private:
    Metadata& add_content(Bytes content) {
        if (content.size() > 0xFFFFFF) {
            throw InvalidArgument("the content of a metadata entry has at most 16,777,215 bytes");
        }
        for (const int shift : {16, 8, 0}) {
            bytes_.push_back(static_cast<char>(content.size() >> shift & 0xFF));
        }
        bytes_.append(text_of(content));
        return *this;
    }

    std::string bytes_;
};

namespace detail {

/// The content of the first entry for which `matches(id, name)` is true: an id of 0 to 127 and no
/// name, or a name and no id. Metadata that ends within an entry has no entries after it.
template <class Matches>
std::optional<Bytes> find_entry(Bytes metadata, Matches matches) {
    while (!metadata.empty()) {
        const auto first = std::to_integer<std::uint8_t>(metadata[0]);
        metadata = metadata.subspan(1);
        std::string_view name;
        std::optional<std::uint8_t> id;
        if ((first & 0x80) != 0) {
            id = static_cast<std::uint8_t>(first & 0x7F);
        } else {
            const std::size_t size = std::size_t{first} + 1;
            if (metadata.size() < size) {
                return std::nullopt;
            }
            name = text_of(metadata.first(size));
            metadata = metadata.subspan(size);
        }
        if (metadata.size() < 3) {
            return std::nullopt;
        }
        std::size_t size = 0;
        for (const std::byte byte : metadata.first(3)) {
            size = size << 8 | std::to_integer<std::size_t>(byte);
        }
        metadata = metadata.subspan(3);
        if (metadata.size() < size) {
            return std::nullopt;
        }
        if (matches(id, name)) {
            return metadata.first(size);
        }
        metadata = metadata.subspan(size);
    }
    return std::nullopt;
}

}  // namespace detail

/// The content of the first entry of a named type.
inline std::optional<Bytes> metadata_entry(Bytes metadata, std::string_view type) {
    return detail::find_entry(metadata, [type](auto id, auto name) { return !id && name == type; });
}

/// The content of the first entry of a well-known type.
inline std::optional<Bytes> metadata_entry(Bytes metadata, std::uint8_t id) {
    return detail::find_entry(metadata, [id](auto found, auto) { return found == id; });
}

}  // namespace stadium
