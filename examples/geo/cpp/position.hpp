// Coordinates that cannot be wrong, and the distance between two of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

#include <stadium/refusal.hpp>

namespace geo {

/// A number in as few digits as give it back.
inline std::string shown(double number) {
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), end};
}

/// A place on the ground. Both angles are finite and within their bounds.
class Position {
  public:
    /// Checks both angles, in degrees. Throws GEO-001 for the latitude, GEO-002 for the longitude.
    Position(double latitude, double longitude) : latitude_(latitude), longitude_(longitude) {
        // Not a number is between nothing.
        if (!(latitude >= -90 && latitude <= 90)) {
            throw stadium::Refusal::rejected(
                "GEO-001", "latitude " + shown(latitude) + " is not between -90 and 90");
        }
        if (!(longitude >= -180 && longitude <= 180)) {
            throw stadium::Refusal::rejected(
                "GEO-002", "longitude " + shown(longitude) + " is not between -180 and 180");
        }
    }

    [[nodiscard]] double latitude() const noexcept { return latitude_; }
    [[nodiscard]] double longitude() const noexcept { return longitude_; }

    /// Metres along the ground, by the haversine formula on a sphere; right within 0.5%.
    [[nodiscard]] double distance_m(const Position& other) const noexcept {
        const double north = std::sin(radians(other.latitude_ - latitude_) / 2);
        const double east = std::sin(radians(other.longitude_ - longitude_) / 2);
        const double part = north * north + std::cos(radians(latitude_)) *
                                                std::cos(radians(other.latitude_)) * east * east;
        return 2 * earth_radius_m * std::asin(std::sqrt(part));
    }

    friend bool operator==(const Position&, const Position&) = default;

  private:
    /// The mean radius of the earth.
    static constexpr double earth_radius_m = 6'371'009;

    static double radians(double degrees) noexcept { return degrees * std::numbers::pi / 180; }

    double latitude_;
    double longitude_;
};

}  // namespace geo
