// Codec<T>: how a type becomes the bytes of a message, and how it is read from them.
//
// Specialise it for types of your own. Texts, bytes and protobuf messages have one here. Protobuf
// messages are recognised by their functions, so that this header needs no header of protobuf.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stadium/bytes.hpp>

namespace stadium {

/// A message of protobuf, full or lite.
template <class T>
concept ProtobufMessage = std::default_initializable<T> &&
    requires(const T& from, T& into, const void* data, int size) {
    { from.SerializeAsString() } -> std::convertible_to<std::string>;
    { into.ParseFromArray(data, size) } -> std::convertible_to<bool>;
};

/// How a T is encoded and decoded. `encode` returns something that has the bytes: a string, a
/// string_view, or Bytes of the value itself. `decode` returns nothing where the bytes are no T.
/// A constant `borrows` that is true means that a decoded value points into the bytes that it was
/// decoded from.
template <class T>
struct Codec;

template <ProtobufMessage T>
struct Codec<T> {
    static std::string encode(const T& message) { return message.SerializeAsString(); }
    static std::optional<T> decode(Bytes bytes) {
        std::optional<T> message(std::in_place);
        if (bytes.size() > INT_MAX ||
            !message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
            return std::nullopt;
        }
        return message;
    }
};

template <>
struct Codec<std::string> {
    static std::string_view encode(const std::string& text) noexcept { return text; }
    static std::optional<std::string> decode(Bytes bytes) { return std::string(text_of(bytes)); }
};

template <>
struct Codec<std::vector<std::byte>> {
    static Bytes encode(const std::vector<std::byte>& bytes) noexcept { return bytes; }
    static std::optional<std::vector<std::byte>> decode(Bytes bytes) {
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
};

template <>
struct Codec<Bytes> {
    static constexpr bool borrows = true;
    static Bytes encode(Bytes bytes) noexcept { return bytes; }
    static std::optional<Bytes> decode(Bytes bytes) noexcept { return bytes; }
};

/// A type that can be the message of a method.
template <class T>
concept Message = requires(const T& value, Bytes bytes) {
    Codec<T>::encode(value);
    { Codec<T>::decode(bytes) } -> std::convertible_to<std::optional<T>>;
};

/// A message whose decoded value points into the bytes that it came from.
template <class T>
concept BorrowedMessage = Message<T> && requires {
    requires Codec<T>::borrows;
};

namespace detail {

inline Bytes view_of(Bytes bytes) noexcept {
    return bytes;
}
inline Bytes view_of(std::string_view text) noexcept {
    return stadium::bytes_of(text);
}

}  // namespace detail
}  // namespace stadium
