// The server that a data directory belongs to: its address, its key, and the receipts that its audit
// writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <stadium/api/api.hpp>

namespace night {

/// A JSON object, by protobuf.
inline google::protobuf::Struct json_of(const std::string& text) {
    google::protobuf::Struct object;
    if (!google::protobuf::util::JsonStringToMessage(text, &object).ok()) {
        throw std::runtime_error("no JSON: " + text.substr(0, 100));
    }
    return object;
}

class Server {
  public:
    explicit Server(std::string data) : data_(std::move(data)) {}

    /// A connection with the key of an admin.
    [[nodiscard]] stadium::Api api() const {
        return stadium::Api({.instances = {address()}, .deadline = std::chrono::seconds(30)},
                            stadium::ApiKey::file(data_ + "/admin.key"));
    }

    /// The receipt of a transfer, JSON; nothing before a seal covers the transfer.
    [[nodiscard]] std::optional<std::string> receipt(const stadium::Uuid& transfer) const {
        const char* const named = std::getenv("STADIUM_BIN");
        const std::string command = quoted(named != nullptr ? named : "stadium") +
                                    " wallet receipt " + quoted(data_) + ' ' + transfer.text() +
                                    " 2>/dev/null";
        FILE* const pipe = popen(command.c_str(), "r");
        if (pipe == nullptr) {
            throw std::runtime_error("cannot start stadium");
        }
        std::string text;
        char part[4096];
        while (const std::size_t size = fread(part, 1, sizeof part, pipe)) {
            text.append(part, size);
        }
        return pclose(pipe) == 0 ? std::optional(text) : std::nullopt;
    }

  private:
    /// Where it answers RPC, as it has announced to other programs of the machine.
    [[nodiscard]] std::string address() const {
        std::ifstream file(data_ + "/running.json");
        std::ostringstream text;
        text << file.rdbuf();
        if (!file) {
            throw std::runtime_error("no server runs on " + data_);
        }
        const auto running = json_of(text.str());
        for (const auto& listener : running.fields().at("listeners").list_value().values()) {
            const auto& fields = listener.struct_value().fields();
            if (fields.at("name").string_value() == "rpc") {
                return fields.at("address").string_value();
            }
        }
        throw std::runtime_error("the server does not serve RPC: see its setting rpc.listen");
    }

    /// A word of a shell's command.
    static std::string quoted(const std::string& word) {
        std::string quoted = "'";
        for (const char letter : word) {
            quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
        }
        return quoted + '\'';
    }

    std::string data_;
};

}  // namespace night
