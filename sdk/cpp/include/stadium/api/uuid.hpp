// Uuid: the 16 bytes by which a transfer or a push is known. The program makes them, so that it can
// send a request again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/random.h>

#include <stadium/error.hpp>

namespace stadium {

/// An id of 128 bits.
class Uuid {
  public:
    /// All zero: no id.
    Uuid() noexcept = default;

    /// A new one: version 4, from the system's random numbers.
    [[nodiscard]] static Uuid random() {
        Uuid made;
        std::size_t have = 0;
        while (have < made.bytes_.size()) {
            const ssize_t read = getrandom(made.bytes_.data() + have, made.bytes_.size() - have, 0);
            if (read < 0 && errno != EINTR) {
                throw SystemError(std::string("no random numbers: ") + std::strerror(errno));
            }
            have += read > 0 ? static_cast<std::size_t>(read) : 0;
        }
        made.bytes_[6] = static_cast<std::uint8_t>((made.bytes_[6] & 0x0F) | 0x40);
        made.bytes_[8] = static_cast<std::uint8_t>((made.bytes_[8] & 0x3F) | 0x80);
        return made;
    }

    /// From the 16 bytes of a message's field.
    [[nodiscard]] static Uuid of_bytes(std::string_view bytes) {
        Uuid read;
        if (bytes.size() != read.bytes_.size()) {
            throw InvalidArgument("an id has 16 bytes, not " + std::to_string(bytes.size()));
        }
        std::memcpy(read.bytes_.data(), bytes.data(), bytes.size());
        return read;
    }

    /// From text such as 8f14e45f-ceea-467f-a0e6-2c0c2b1d9b1a.
    [[nodiscard]] static Uuid parse(std::string_view text) {
        Uuid read;
        std::size_t digits = 0;
        for (std::size_t place = 0; place < text.size(); place++) {
            const bool is_dash = place == 8 || place == 13 || place == 18 || place == 23;
            const int digit = digit_of(text[place]);
            if (text.size() != text_size || (is_dash ? text[place] != '-' : digit < 0)) {
                throw InvalidArgument("not a UUID: " + std::string(text.substr(0, 64)));
            }
            if (!is_dash) {
                std::uint8_t& byte = read.bytes_[digits / 2];
                byte = static_cast<std::uint8_t>(byte << 4 | digit);
                digits++;
            }
        }
        if (text.empty()) {
            throw InvalidArgument("not a UUID: the text is empty");
        }
        return read;
    }

    [[nodiscard]] std::string text() const {
        constexpr std::string_view digits = "0123456789abcdef";
        std::string text;
        for (std::size_t place = 0; place < bytes_.size(); place++) {
            if (place == 4 || place == 6 || place == 8 || place == 10) {
                text += '-';
            }
            text += digits[bytes_[place] >> 4];
            text += digits[bytes_[place] & 0xF];
        }
        return text;
    }

    /// As a message's field has it.
    [[nodiscard]] std::string bytes() const {
        return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    }

    friend auto operator<=>(const Uuid&, const Uuid&) = default;

  private:
    static constexpr std::size_t text_size = 36;

    static int digit_of(char character) noexcept {
        if (character >= '0' && character <= '9') return character - '0';
        if (character >= 'a' && character <= 'f') return character - 'a' + 10;
        if (character >= 'A' && character <= 'F') return character - 'A' + 10;
        return -1;
    }

    std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace stadium
