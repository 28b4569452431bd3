// ApiKey: where the key of a Stadium server comes from. It is read again for each request, so that
// it can be rotated while the program runs. It is never logged, and no error quotes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include <stadium/error.hpp>

namespace stadium {

namespace detail {

/// The longest key that is read from a file. Keys of a server have 46 bytes; tokens are longer.
inline constexpr std::size_t key_bytes_max = 16384;

/// A key without the white space around it. `source` names where it is from.
inline std::string checked_key(std::string_view text, const std::string& source) {
    constexpr std::string_view white = " \t\r\n";
    const std::size_t first = text.find_first_not_of(white);
    if (first == std::string_view::npos) {
        throw InvalidArgument("the API key is empty: " + source);
    }
    const std::string_view key = text.substr(first, text.find_last_not_of(white) + 1 - first);
    for (const char character : key) {
        if (character <= ' ' || character > '~') {
            throw InvalidArgument("the API key has a character that no key has: " + source);
        }
    }
    return std::string(key);
}

/// A file with a key, which is read again when it was changed or replaced.
class KeyFile {
  public:
    explicit KeyFile(std::string path) : path_(std::move(path)) {}

    std::string read() {
        struct stat now {};
        if (stat(path_.c_str(), &now) != 0) {
            throw InvalidArgument("the file of the API key cannot be read: " + path_);
        }
        const std::lock_guard lock(mutex_);
        if (key_.empty() || !is_same(now)) {
            std::ifstream file(path_, std::ios::binary);
            std::string text(key_bytes_max, '\0');
            file.read(text.data(), static_cast<std::streamsize>(text.size()));
            if (file.bad() || (!file.eof() && file.fail()) || file.gcount() < 0) {
                throw InvalidArgument("the file of the API key cannot be read: " + path_);
            }
            text.resize(static_cast<std::size_t>(file.gcount()));
            if (text.size() == key_bytes_max) {
                throw InvalidArgument("the file is too long for an API key: " + path_);
            }
            key_ = checked_key(text, path_);
            read_ = now;
        }
        return key_;
    }

  private:
    [[nodiscard]] bool is_same(const struct stat& now) const noexcept {
        return now.st_ino == read_.st_ino && now.st_size == read_.st_size &&
               now.st_mtim.tv_sec == read_.st_mtim.tv_sec &&
               now.st_mtim.tv_nsec == read_.st_mtim.tv_nsec;
    }

    const std::string path_;
    std::mutex mutex_;
    std::string key_;
    struct stat read_ {};
};

}  // namespace detail

/// Where an API key comes from. Cheap to copy.
class ApiKey {
  public:
    /// This key. It cannot be rotated.
    [[nodiscard]] static ApiKey text(std::string_view key) {
        return ApiKey([key = detail::checked_key(key, "the text")] { return key; });
    }
    /// The content of a file, without white space around it. It is read again when the file
    /// changes: replace it by rename(2), so that nobody reads half of it.
    [[nodiscard]] static ApiKey file(std::string path) {
        auto file = std::make_shared<detail::KeyFile>(std::move(path));
        return ApiKey([file] { return file->read(); });
    }
    /// A variable of the environment, as it is now.
    [[nodiscard]] static ApiKey environment(const std::string& variable = "STADIUM_KEY") {
        const char* value = std::getenv(variable.c_str());
        if (value == nullptr) {
            throw InvalidArgument("the variable of the API key is not set: " + variable);
        }
        return ApiKey(
            [key = detail::checked_key(value, "the variable " + variable)] { return key; });
    }
    /// A function that returns the key, for example from a secret store. Each request calls it, on
    /// the thread that makes the request; several threads may call it at once. What it throws, the
    /// request throws.
    [[nodiscard]] static ApiKey from(std::function<std::string()> function) {
        return ApiKey([function = std::move(function)] {
            return detail::checked_key(function(), "the function that returns it");
        });
    }

    /// The key as it is now. Throws InvalidArgument where there is none.
    [[nodiscard]] std::string read() const { return (*read_)(); }

  private:
    explicit ApiKey(std::function<std::string()> read)
        : read_(std::make_shared<const std::function<std::string()>>(std::move(read))) {}

    std::shared_ptr<const std::function<std::string()>> read_;
};

}  // namespace stadium
