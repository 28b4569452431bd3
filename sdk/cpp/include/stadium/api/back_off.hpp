// BackOff: the times between attempts to reach a server that is away.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace stadium::detail {

/// Times between attempts: from `min` on twice the one before, at most `max`, a random half of it
/// less.
class BackOff {
  public:
    BackOff(std::chrono::milliseconds min, std::chrono::milliseconds max) : min_(min), max_(max) {}

    std::chrono::milliseconds next() {
        const std::chrono::milliseconds now =
            std::min<std::chrono::milliseconds>(min_ * (1LL << std::min(failures_, 20U)), max_);
        failures_++;
        std::uniform_real_distribution<double> part(0.5, 1.0);
        return std::chrono::milliseconds(
            static_cast<std::int64_t>(static_cast<double>(now.count()) * part(random_)));
    }
    void reset() noexcept { failures_ = 0; }
    [[nodiscard]] unsigned failures() const noexcept { return failures_; }

  private:
    const std::chrono::milliseconds min_;
    const std::chrono::milliseconds max_;
    unsigned failures_ = 0;
    std::minstd_rand random_{std::random_device{}()};
};

}  // namespace stadium::detail
