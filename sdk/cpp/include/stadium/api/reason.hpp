// The reason of a failed job, as the history takes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace stadium::detail {

/// Bytes of a reason that the history keeps.
inline constexpr std::size_t reason_bytes_max = 1024;

/// The bytes of the UTF-8 character at the beginning of a text; 0 where there is none.
inline std::size_t character_size(std::string_view text) noexcept {
    const auto byte_at = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte_at(0);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
    if (size > text.size()) {
        return 0;
    }
    for (std::size_t at = 1; at < size; at++) {
        if ((byte_at(at) & 0xC0) != 0x80) {
            return 0;
        }
    }
    // Longer than it need be, a surrogate, or beyond the last character.
    const bool is_wrong =
        (first == 0xE0 && byte_at(1) < 0xA0) || (first == 0xED && byte_at(1) > 0x9F) ||
        (first == 0xF0 && byte_at(1) < 0x90) || (first == 0xF4 && byte_at(1) > 0x8F);
    return is_wrong ? 0 : size;
}

/// A text as the history takes it: UTF-8 without control characters, and not too long. Other bytes
/// become question marks.
inline std::string reason_of(std::string_view text) {
    std::string reason;
    while (!text.empty()) {
        const std::size_t size = character_size(text);
        const std::size_t taken = std::max<std::size_t>(size, 1);
        if (reason.size() + taken > reason_bytes_max) {
            break;
        }
        const auto first = static_cast<unsigned char>(text[0]);
        if (size == 0) {
            reason += '?';
        } else if (first < 0x20 || first == 0x7F) {
            reason += ' ';
        } else {
            reason += text.substr(0, size);
        }
        text.remove_prefix(taken);
    }
    return reason;
}

}  // namespace stadium::detail
