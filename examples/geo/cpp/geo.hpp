// What the service and its client share: the methods of ../proto/geo.proto, and the address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stadium/stadium.hpp>

#include "geo.pb.h"

namespace geo {

/// Where the service listens, and its client calls, by default.
inline constexpr const char* address = "127.0.0.1:7801";

inline constexpr auto store =
    stadium::unary<v1::GeoEvent, v1::StorageResponse>("geo/Store").idempotent();
inline constexpr auto last = stadium::unary<v1::Device, v1::GeoEvent>("geo/Last").idempotent();
inline constexpr auto near = stadium::stream<v1::Circle, v1::GeoEvent>("geo/Near").idempotent();
inline constexpr auto watch =
    stadium::stream<v1::WatchRequest, v1::GeoEvent>("geo/Watch").idempotent();

}  // namespace geo
