// Writes settings as JSON objects.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stadium::detail {

/// A text in quotes. Bytes that are no UTF-8 stay as they are: the reader refuses them.
inline std::string json_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string json = "\"";
    for (const char character : text) {
        const auto code = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            json += '\\';
            json += character;
        } else if (code < 0x20) {
            json += "\\u00";
            json += digits[code >> 4];
            json += digits[code & 0xF];
        } else {
            json += character;
        }
    }
    return json + '"';
}

/// An object that is being written. Members without a value are left out.
class JsonObject {
  public:
    void add(std::string_view name, const std::string& value) { add_raw(name, json_text(value)); }
    void add(std::string_view name, bool value) { add_raw(name, value ? "true" : "false"); }
    template <std::integral T>
        requires(!std::same_as<T, bool>)
    void add(std::string_view name, T value) { add_raw(name, std::to_string(value)); }
    template <class Rep, class Period>
    void add(std::string_view name, std::chrono::duration<Rep, Period> value) {
        add(name, value.count());
    }
    void add(std::string_view name, const std::vector<std::string>& values) {
        std::string list(1, '[');
        for (const std::string& value : values) {
            if (list.size() > 1) {
                list += ',';
            }
            list += json_text(value);
        }
        list += ']';
        add_raw(name, list);
    }
    template <class T>
        requires requires(const T& settings) {
            settings.json();
        }
    void add(std::string_view name, const T& settings) { add_raw(name, settings.json()); }
    template <class T>
    void add(std::string_view name, const std::optional<T>& value) {
        if (value) {
            add(name, *value);
        }
    }

    [[nodiscard]] std::string text() const { return '{' + members_ + '}'; }

  private:
    void add_raw(std::string_view name, std::string_view json) {
        if (!members_.empty()) {
            members_ += ',';
        }
        members_ += json_text(name);
        members_ += ':';
        members_ += json;
    }

    std::string members_;
};

}  // namespace stadium::detail
