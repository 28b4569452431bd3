// geo-client: stores random events and prints the rate, or stores one event, asks, or watches.
//
// Calls carry their device's id as the affinity key, so that with several instances one of them
// knows all about a device. Answers go to standard output; a call that was not answered OK makes
// the exit code 1.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <iostream>
#include <random>

#include "flags.hpp"
#include "geo.hpp"
#include "position.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Events that the service may send ahead of the reader.
constexpr std::uint32_t near_credit = 256;
/// A watch is given up after this time, which is the longest that a server allows.
constexpr std::chrono::minutes watch_time{10};

/// Calls about a device go where all calls about it go.
stadium::CallOptions about(const std::string& device) {
    return stadium::CallOptions().key(device);
}

std::uint64_t now_ms() {
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / 1ms);
}

void print(const geo::v1::GeoEvent& event) {
    std::cout << event.device_id() << ' ' << geo::shown(event.latitude()) << ' '
              << geo::shown(event.longitude()) << ' ' << event.timestamp_ms() << ' '
              << (event.significance() == geo::v1::GeoEvent::SIGNIFICANT ? "Significant" : "Minor")
              << std::endl;
}

void store_one(const stadium::Client& client, const std::string& device, double latitude,
               double longitude) {
    geo::v1::GeoEvent event;
    event.set_device_id(device);
    event.set_timestamp_ms(now_ms());
    event.set_latitude(latitude);
    event.set_longitude(longitude);
    event.set_significance(geo::v1::GeoEvent::SIGNIFICANT);
    const auto answer = client.call(geo::store, event, about(device)).get();
    std::cout << (answer.code() == geo::v1::StorageResponse::OK ? "Ok " : "Error ")
              << answer.message() << '\n';
}

geo::v1::GeoEvent random_event(std::mt19937_64& random, std::uint64_t devices) {
    geo::v1::GeoEvent event;
    event.set_device_id("device-" + std::to_string(random() % devices));
    event.set_timestamp_ms(now_ms());
    event.set_latitude(std::uniform_real_distribution<double>(-90, 90)(random));
    event.set_longitude(std::uniform_real_distribution<double>(-180, 180)(random));
    event.set_significance(random() % 10 == 0 ? geo::v1::GeoEvent::SIGNIFICANT
                                              : geo::v1::GeoEvent::MINOR);
    return event;
}

/// Stores random events, so many calls under way at once.
int storm(const stadium::Client& client, std::uint64_t events, std::uint64_t devices,
          std::size_t in_flight) {
    struct Call {
        Clock::time_point begun;
        stadium::Future<geo::v1::StorageResponse> answer;
    };
    std::deque<Call> calls;
    std::vector<double> latencies_ms;
    std::uint64_t busy = 0, rejected = 0, failed = 0;
    std::string why;
    const auto take = [&] {
        Call call = std::move(calls.front());
        calls.pop_front();
        try {
            std::move(call.answer).get();
            latencies_ms.push_back((Clock::now() - call.begun) / 1us / 1000.0);
            return;
        } catch (const stadium::Busy&) {
            busy++;
            return;
        } catch (const stadium::Rejected& error) {
            rejected++;
            why = why.empty() ? error.what() : why;
        } catch (const stadium::Error& error) {
            failed++;
            why = why.empty() ? error.what() : why;
        }
    };
    std::mt19937_64 random(std::random_device{}());
    const auto begun = Clock::now();
    for (std::uint64_t nth = 0; nth < events; nth++) {
        if (calls.size() >= in_flight) {
            take();
        }
        const auto event = random_event(random, devices);
        calls.push_back({Clock::now(), client.call(geo::store, event, about(event.device_id()))});
    }
    while (!calls.empty()) {
        take();
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    std::sort(latencies_ms.begin(), latencies_ms.end());
    const auto at = [&](double part) {
        return latencies_ms.empty() ? 0.0
                                    : latencies_ms[static_cast<std::size_t>(
                                          part * static_cast<double>(latencies_ms.size() - 1))];
    };
    std::printf("%zu stored, %lu busy, %lu rejected, %lu failed in %.2f s\n", latencies_ms.size(),
                busy, rejected, failed, seconds);
    std::printf("%.0f stored/s; latency p50 %.3f ms, p99 %.3f ms, max %.3f ms\n",
                static_cast<double>(latencies_ms.size()) / seconds, at(0.5), at(0.99), at(1));
    if (!why.empty()) {
        std::fprintf(stderr, "geo-client: %lu events were not stored, the first one: %s\n",
                     rejected + failed, why.c_str());
    }
    return why.empty() ? 0 : 1;
}

int run(const geo::Flags& flags) {
    stadium::ClientOptions options;
    options.discovery = flags.discovery();
    if (!options.discovery) {
        options.instances = geo::split(flags.text("--address", geo::address));
    }
    options.deadline = std::chrono::milliseconds(flags.number<std::uint32_t>("--deadline", 1000));
    const stadium::Client client(options);
    if (const auto device = flags.find("--device")) {
        const auto latitude = flags.find("--lat"), longitude = flags.find("--lon");
        if (!latitude || !longitude) {
            throw std::invalid_argument("--device needs --lat and --lon");
        }
        store_one(client, *device, geo::number_of<double>(*latitude),
                  geo::number_of<double>(*longitude));
    } else if (const auto asked = flags.find("--last")) {
        geo::v1::Device device_asked;
        device_asked.set_device_id(*asked);
        print(client.call(geo::last, device_asked, about(*asked)).get());
    } else if (const auto near = flags.find("--near")) {
        const auto parts = geo::split(*near);
        if (parts.size() != 3) {
            throw std::invalid_argument(
                "--near takes a latitude, a longitude and metres: 37.98,23.73,5000");
        }
        geo::v1::Circle circle;
        circle.set_latitude(geo::number_of<double>(parts[0]));
        circle.set_longitude(geo::number_of<double>(parts[1]));
        circle.set_radius_m(geo::number_of<double>(parts[2]));
        const auto credit = stadium::CallOptions().credit(near_credit);
        for (const auto& event : client.open(geo::near, circle, credit)) {
            print(event);
        }
    } else if (flags.find("--watch")) {
        geo::v1::WatchRequest request;
        request.set_with_last(true);
        const auto for_long = stadium::CallOptions().deadline(watch_time);
        for (const auto& event : client.open(geo::watch, request, for_long)) {
            print(event);
        }
    } else {
        return storm(client, flags.number<std::uint64_t>("--events", 100'000),
                     std::max<std::uint64_t>(flags.number<std::uint64_t>("--devices", 1000), 1),
                     std::max<std::size_t>(flags.number<std::size_t>("--in-flight", 64), 1));
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return run(
            geo::Flags(count, arguments,
                       {"--address", "--etcd", "--zookeeper", "--deadline", "--events", "--devices",
                        "--in-flight", "--device", "--lat", "--lon", "--last", "--near"},
                       {"--watch"}));
    } catch (const stadium::Rejected& error) {
        std::fprintf(stderr, "geo-client: rejected: %s (%s)\n", error.what(), error.code().c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "geo-client: %s\n", error.what());
    }
    return 1;
}
