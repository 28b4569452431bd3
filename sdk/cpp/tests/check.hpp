// What every test program needs: checks that name their place, and a service with a function for
// everything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include <stadium/stadium.hpp>

/// The longest that anything may take that happens at all.
inline constexpr std::chrono::seconds soon{20};

#define CHECK(condition) ((condition) ? void() : failed(__FILE__, __LINE__, #condition))

[[noreturn]] inline void failed(const char* file, int line, const char* what) {
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    std::_Exit(1);
}

/// Runs a function that throws a T, and returns that.
#define THROWS(T, ...) thrown_by<T>([&] { __VA_ARGS__; }, __FILE__, __LINE__, #T)

template <class T, class F>
T thrown_by(F function, const char* file, int line, const char* what) {
    try {
        function();
    } catch (const T& thrown) {
        return thrown;
    } catch (const std::exception& other) {
        std::fprintf(stderr, "thrown instead: %s\n", other.what());
    }
    failed(file, line, what);
}

/// Waits until a condition holds.
inline void eventually(const std::function<bool()>& condition, const char* what) {
    const auto until = std::chrono::steady_clock::now() + soon;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) {
            failed("eventually", 0, what);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// A server on a free port. Its limit does not follow latency: the machine of a test may be busy.
inline stadium::ServerOptions server_options() {
    return {
        .listen = {"127.0.0.1:0"},
        .admission = stadium::Admission{.concurrency_initial = 10000, .concurrency_min = 10000}};
}

inline stadium::ClientOptions client_options(std::uint16_t port) {
    return {.instances = {"127.0.0.1:" + std::to_string(port)}, .deadline = soon, .attempts = 1};
}

using Text = std::string;
