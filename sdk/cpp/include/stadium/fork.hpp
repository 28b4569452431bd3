// Notices that the process was forked: a child has none of the threads of its parent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>

#include <stadium/error.hpp>

namespace stadium::detail {

inline std::atomic<std::uint32_t> fork_generation{0};

/// The process that made an object. pthread_atfork(3) counts, because asking for the process id
/// costs a system call.
class Process {
  public:
    Process() noexcept : generation_(current()) {}

    /// Whether the process was forked since, and this is the child.
    [[nodiscard]] bool is_gone() const noexcept {
        return generation_ != fork_generation.load(std::memory_order_relaxed);
    }

    void check() const {
        if (is_gone()) {
            throw Forked(
                "the process was forked after this object was made; make clients and servers in "
                "the child");
        }
    }

  private:
    static std::uint32_t current() noexcept {
        static const int registered = pthread_atfork(
            nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
        static_cast<void>(registered);
        return fork_generation.load(std::memory_order_relaxed);
    }

    std::uint32_t generation_;
};

}  // namespace stadium::detail
