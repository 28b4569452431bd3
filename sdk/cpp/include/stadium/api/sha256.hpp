// SHA-256, by libcrypto of OpenSSL.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include <stadium/error.hpp>

namespace stadium {

/// 32 bytes.
using Hash = std::array<std::uint8_t, 32>;

/// The hash of parts, one after the other.
inline Hash sha256(std::initializer_list<std::string_view> parts) {
    struct Free {
        void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
    };
    const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
    Hash hash;
    bool is_done = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
    for (const std::string_view part : parts) {
        is_done = is_done && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
    }
    if (!is_done || EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) != 1) {
        throw SystemError("libcrypto does not compute SHA-256");
    }
    return hash;
}

/// A hash as bytes, as the fields of messages have it.
inline std::string bytes_of_hash(const Hash& hash) {
    return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

/// A hash as 64 hexadecimal digits.
inline std::string hex_of_hash(const Hash& hash) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : hash) {
        text += digits[byte >> 4];
        text += digits[byte & 0xF];
    }
    return text;
}

}  // namespace stadium
