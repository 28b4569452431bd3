// Bytes that somebody else owns, and their conversions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <stadium.h>

namespace stadium {

/// Bytes that somebody else owns.
using Bytes = std::span<const std::byte>;

/// The characters of a text as bytes.
inline Bytes bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// Bytes as characters.
inline std::string_view text_of(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

namespace detail {

inline Bytes from_abi(const stadium_bytes& bytes) noexcept {
    return {reinterpret_cast<const std::byte*>(bytes.data), bytes.size};
}

inline stadium_bytes to_abi(Bytes bytes) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace detail
}  // namespace stadium
