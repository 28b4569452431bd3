// The real server for tests: the built binary on free ports of the loopback, with a data folder of
// its own. It ends with the test, also where the test is killed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stadium/api/api.hpp>

#include "check.hpp"

/// A child process, killed at the end.
class Child {
  public:
    /// Runs a program. Its output goes to files beside `log`: log.out, log.err.
    explicit Child(const std::vector<std::string>& command, const std::string& log,
                   const std::vector<std::string>& environment = {})
        : log_(log) {
        std::vector<char*> arguments;
        for (const std::string& argument : command) {
            arguments.push_back(const_cast<char*>(argument.c_str()));
        }
        arguments.push_back(nullptr);
        const std::string out = log + ".out", err = log + ".err";
        const pid_t parent = getpid();
        pid_ = fork();
        CHECK(pid_ >= 0);
        if (pid_ == 0) {
            // It ends with this process, however that ends.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) _exit(126);
            for (const std::string& variable : environment) {
                putenv(const_cast<char*>(variable.c_str()));
            }
            dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
            dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
            execv(arguments[0], arguments.data());
            _exit(127);
        }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }

    void signal(int number) const { CHECK(kill(pid_, number) == 0); }
    /// Waits for its end, and returns its exit code; of a signal, 128 and its number.
    int wait() {
        int status = 0;
        eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, "a process ends");
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    [[nodiscard]] std::string out() const { return read(log_ + ".out"); }
    [[nodiscard]] std::string err() const { return read(log_ + ".err"); }

    static std::string read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

  private:
    std::string log_;
    pid_t pid_ = -1;
};

class StadiumServer {
  public:
    explicit StadiumServer(std::vector<std::string> settings = {})
        : settings_(std::move(settings)) {
        std::string folder = (std::filesystem::temp_directory_path() / "stadium-cpp-XXXXXX");
        CHECK(mkdtemp(folder.data()) != nullptr);
        folder_ = folder;
        start("127.0.0.1:0");
    }
    StadiumServer(const StadiumServer&) = delete;
    StadiumServer& operator=(const StadiumServer&) = delete;
    ~StadiumServer() {
        process_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// HOST:PORT of its services.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
    [[nodiscard]] std::string data() const { return folder_ + "/data"; }
    [[nodiscard]] std::string admin_key_file() const { return data() + "/admin.key"; }

    [[nodiscard]] stadium::ClientOptions client_options() const {
        return {.instances = {address_}, .deadline = soon};
    }
    [[nodiscard]] stadium::Api api() const {
        return stadium::Api(client_options(), stadium::ApiKey::file(admin_key_file()));
    }

    /// Kills it, and starts it again on the same data and port.
    void restart() {
        process_->signal(SIGKILL);
        process_->wait();
        start(address_);
    }

    /// Runs `stadium ARGUMENTS`, and returns what it printed.
    std::string command(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), binary());
        Child child(arguments, folder_ + "/command");
        if (child.wait() != 0) {
            failed("stadium", 0, (arguments[1] + ": " + child.err()).c_str());
        }
        return child.out();
    }
    struct Key {
        std::string id;
        std::string secret;
    };
    /// Makes an API key.
    [[nodiscard]] Key make_key(const std::string& role, const std::string& name) const {
        const std::string json =
            command({"key", "create", name, "--json", "--role", role, "--data", data()});
        return {text_of(json, "id"), text_of(json, "secret")};
    }
    void revoke_key(const Key& key) const { command({"key", "revoke", key.id, "--data", data()}); }

    /// The text of a field of a JSON object.
    static std::string text_of(const std::string& json, const std::string& field) {
        const std::size_t at = json.find('"' + field + "\":");
        CHECK(at != std::string::npos);
        const std::size_t begin = json.find('"', at + field.size() + 3) + 1;
        return json.substr(begin, json.find('"', begin) - begin);
    }

  private:
    static std::string binary() {
        const char* named = std::getenv("STADIUM_BIN");
        CHECK(named != nullptr);
        return named;
    }

    void start(const std::string& rpc) {
        std::vector<std::string> command = {binary(), "serve",  "--json",  "--trial", "--data",
                                            data(),   "--mqtt", "off",     "--http",  "127.0.0.1:0",
                                            "--rpc",  rpc,      "--loops", "1"};
        for (const std::string& setting : settings_) {
            command.push_back("--set");
            command.push_back(setting);
        }
        // Segments as small as they may be: a shard takes 9 MiB of disk, not 80.
        process_ = std::make_unique<Child>(
            command, folder_ + "/server",
            std::vector<std::string>{"STADIUM_JOURNAL__SEGMENT_BYTES=9437184",
                                     "STADIUM_JOURNAL__RESERVE_BYTES=262144"});
        eventually([&] { return process_->out().find('\n') != std::string::npos; },
                   "the server is ready");
        const std::string ready = process_->out();
        const std::size_t end = ready.find("\",\"name\":\"rpc\"");
        CHECK(end != std::string::npos);
        const std::size_t begin = ready.rfind('"', end - 1) + 1;
        address_ = ready.substr(begin, end - begin);
    }

    const std::vector<std::string> settings_;
    std::string folder_;
    std::string address_;
    std::unique_ptr<Child> process_;
};
