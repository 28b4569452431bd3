// The flags of both programs: --name value, or --name=value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <stadium/settings.hpp>

namespace geo {

/// The parts of a text between commas.
inline std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find(',', begin);
        parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return parts;
}

/// A whole text as a number.
template <class T>
T number_of(std::string_view text) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw std::invalid_argument(std::string(text) + " is no number, or out of bounds");
    }
    return number;
}

class Flags {
  public:
    /// Takes values of the flags with these names, and without one those of `switches`.
    Flags(int count, char** arguments, const std::set<std::string>& names,
          const std::set<std::string>& switches = {}) {
        for (int nth = 1; nth < count; nth++) {
            const std::string argument = arguments[nth];
            const std::size_t equals = argument.find('=');
            const std::string name = argument.substr(0, equals);
            if (switches.contains(name)) {
                values_[name] = "";
            } else if (!names.contains(name)) {
                throw std::invalid_argument("unknown flag " + name);
            } else if (equals != std::string::npos) {
                values_[name] = argument.substr(equals + 1);
            } else if (++nth < count) {
                values_[name] = arguments[nth];
            } else {
                throw std::invalid_argument(name + " needs a value");
            }
        }
    }

    [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const {
        return find(name).value_or(otherwise);
    }
    template <class T>
    [[nodiscard]] T number(const std::string& name, T otherwise) const {
        const auto value = find(name);
        return value ? number_of<T>(*value) : otherwise;
    }

    /// --etcd URL,.. or --zookeeper HOST:PORT,..
    [[nodiscard]] std::optional<stadium::Discovery> discovery() const {
        const auto etcd = find("--etcd");
        const auto zookeeper = find("--zookeeper");
        if (etcd && zookeeper) {
            throw std::invalid_argument("--etcd and --zookeeper exclude each other");
        }
        if (zookeeper) {
            return stadium::Discovery{.url = "zk://" + *zookeeper};
        }
        if (!etcd) {
            return std::nullopt;
        }
        std::string members;
        for (const std::string& member : split(*etcd)) {
            constexpr std::string_view scheme = "http://";
            members += (members.empty() ? "" : ",") +
                       (member.starts_with(scheme) ? member.substr(scheme.size()) : member);
        }
        return stadium::Discovery{.url = "etcd://" + members};
    }

  private:
    std::map<std::string, std::string> values_;
};

}  // namespace geo
