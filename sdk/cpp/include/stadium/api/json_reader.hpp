// Reads the JSON of receipts: objects, lists, texts and whole numbers. Everything else is refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stadium::detail {

/// The text is not the JSON that is read here.
class NoJson : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class JsonValue {
  public:
    using Object = std::map<std::string, JsonValue, std::less<>>;
    using List = std::vector<JsonValue>;

    JsonValue() noexcept = default;
    template <class T>
    explicit JsonValue(T value) : value_(std::move(value)) {}

    /// The value as one of these types. `name` names it for the error.
    template <class T>
    [[nodiscard]] const T& as(const char* name) const {
        if (const T* value = std::get_if<T>(&value_)) {
            return *value;
        }
        throw NoJson(std::string(name) + " is of another type");
    }

  private:
    std::variant<std::uint64_t, std::string, List, Object> value_;
};

class JsonReader {
  public:
    static JsonValue read(std::string_view text) {
        JsonReader reader(text);
        JsonValue value = reader.value(0);
        reader.skip_white();
        if (!reader.rest_.empty()) {
            throw NoJson("something follows the end of the JSON");
        }
        return value;
    }

  private:
    /// Values within values.
    static constexpr int depth_max = 16;

    explicit JsonReader(std::string_view text) : rest_(text) {}

    JsonValue value(int depth) {
        if (depth > depth_max) {
            throw NoJson("the JSON is nested too deeply");
        }
        skip_white();
        switch (peek()) {
            case '{': return JsonValue(object(depth));
            case '[': return JsonValue(list(depth));
            case '"': return JsonValue(text());
            default: return JsonValue(number());
        }
    }

    JsonValue::Object object(int depth) {
        JsonValue::Object members;
        take('{');
        if (take_if('}')) {
            return members;
        }
        do {
            skip_white();
            std::string name = text();
            take(':');
            if (!members.emplace(name, value(depth + 1)).second) {
                throw NoJson("the field " + name + " is there twice");
            }
        } while (take_if(','));
        take('}');
        return members;
    }

    JsonValue::List list(int depth) {
        JsonValue::List items;
        take('[');
        if (take_if(']')) {
            return items;
        }
        do {
            items.push_back(value(depth + 1));
        } while (take_if(','));
        take(']');
        return items;
    }

    /// The texts of a receipt have no escapes.
    std::string text() {
        take('"');
        const std::size_t end = rest_.find_first_of("\"\\");
        if (end == std::string_view::npos || rest_[end] == '\\') {
            throw NoJson("a text has no end, or an escape");
        }
        std::string text(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        return text;
    }

    std::uint64_t number() {
        std::uint64_t number = 0;
        std::size_t digits = 0;
        for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; digits++) {
            const auto digit = static_cast<std::uint64_t>(rest_[digits] - '0');
            if (number > (UINT64_MAX - digit) / 10) {
                throw NoJson("a number is too large");
            }
            number = number * 10 + digit;
        }
        const bool is_padded = digits > 1 && rest_[0] == '0';
        const bool goes_on =
            digits < rest_.size() && std::string_view(".eE+-").find(rest_[digits]) != rest_.npos;
        if (digits == 0 || is_padded || goes_on) {
            throw NoJson("a value is no object, list, text or whole number");
        }
        rest_.remove_prefix(digits);
        return number;
    }

    [[nodiscard]] char peek() const {
        if (rest_.empty()) {
            throw NoJson("the JSON ends too early");
        }
        return rest_.front();
    }
    bool take_if(char character) {
        skip_white();
        if (rest_.empty() || rest_.front() != character) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }
    void take(char character) {
        if (!take_if(character)) {
            throw NoJson(std::string("the JSON has no ") + character + " where one is needed");
        }
    }
    void skip_white() {
        const std::size_t first = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
    }

    std::string_view rest_;
};

}  // namespace stadium::detail
