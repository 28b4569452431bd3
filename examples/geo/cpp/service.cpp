// geo-service: keeps the last location of every device, until SIGTERM asks it to leave.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <memory>

#include <google/protobuf/descriptor.pb.h>

#include "flags.hpp"
#include "places.hpp"

namespace {

using geo::Places;
using geo::Position;
using stadium::Refusal;
using namespace std::chrono_literals;

constexpr std::size_t device_id_bytes_max = 128;
/// How far a device's clock may be ahead. An event further ahead would hide all later ones.
constexpr std::chrono::seconds ahead_max{60};
/// When a full store is worth asking again: room comes only by an operator's hand.
constexpr std::chrono::seconds full_retry_after{60};
/// Events of a watch that are read at once: an event behind others was read that much earlier.
constexpr std::size_t watched_at_once = 64;

/// Works for that long, as a computation would.
void toil(std::chrono::microseconds work) {
    const auto until = std::chrono::steady_clock::now() + work;
    while (work.count() > 0 && std::chrono::steady_clock::now() < until) {
    }
}

geo::v1::StorageResponse store(Places& places, const geo::v1::GeoEvent& event) {
    const Position position(event.latitude(), event.longitude());
    const std::string& device = event.device_id();
    if (device.empty() || device.size() > device_id_bytes_max) {
        throw Refusal::rejected(
            "GEO-003", "device id has " + std::to_string(device.size()) + " bytes, not 1 to 128");
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch() + ahead_max;
    if (event.timestamp_ms() > static_cast<std::uint64_t>(now / 1ms)) {
        throw Refusal::rejected("GEO-006", "timestamp " + std::to_string(event.timestamp_ms()) +
                                               " ms is more than 60 s ahead");
    }
    const auto significance = geo::v1::GeoEvent::Significance_IsValid(event.significance())
                                  ? event.significance()
                                  : geo::v1::GeoEvent::MINOR;
    geo::v1::StorageResponse answer;
    switch (places.store(device, {event.timestamp_ms(), position, significance})) {
        case geo::Stored::kept: break;
        case geo::Stored::older: answer.set_message("a later location is known"); break;
        case geo::Stored::full: throw Refusal::busy(full_retry_after, "no room for another device");
    }
    return answer;
}

geo::v1::GeoEvent last(Places& places, const geo::v1::Device& device) {
    const auto sighting = places.last(device.device_id());
    if (!sighting) {
        throw Refusal::rejected("GEO-004",
                                "device \"" + device.device_id() + "\" was never seen here");
    }
    return sighting->to_event(device.device_id());
}

stadium::Task<> near(Places& places, const geo::v1::Circle& circle,
                     stadium::Sender<geo::v1::GeoEvent>& out) {
    const Position centre(circle.latitude(), circle.longitude());
    if (!std::isfinite(circle.radius_m()) || circle.radius_m() <= 0) {
        throw Refusal::rejected(
            "GEO-005", "radius " + geo::shown(circle.radius_m()) + " m is not more than 0");
    }
    for (std::size_t shard = 0; shard < Places::shards; shard++) {
        for (const auto& event : places.near(shard, centre, circle.radius_m())) {
            co_await out.async_send(event);
        }
    }
}

/// Locations as they become known. That a watcher has gone is noticed at the next change.
stadium::Task<> watch(Places& places, const geo::v1::WatchRequest& request,
                      stadium::Sender<geo::v1::GeoEvent>& out) {
    Places::Cursor cursor;
    if (!request.with_last()) {
        cursor = places.now();
    }
    while (!places.is_closed()) {
        const std::uint64_t version = places.version();
        const auto events = places.newer(cursor, watched_at_once);
        for (const auto& event : events) {
            co_await out.async_send(event);
        }
        if (events.empty()) {
            co_await places.change_since(version);
        }
    }
}

/// The contract, with which geo/describe answers.
std::string descriptors() {
    google::protobuf::FileDescriptorSet set;
    geo::v1::GeoEvent::descriptor()->file()->CopyTo(set.add_file());
    return set.SerializeAsString();
}

stadium::Service service(const std::shared_ptr<Places>& places, std::chrono::microseconds work) {
    stadium::Service geo("geo");
    geo.descriptors(descriptors());
    geo.on(geo::store, [places, work](const geo::v1::GeoEvent& event) {
        toil(work);
        return store(*places, event);
    });
    geo.on(geo::last, [places](const geo::v1::Device& device) { return last(*places, device); });
    geo.on(geo::near,
           [places](const geo::v1::Circle& circle, stadium::Sender<geo::v1::GeoEvent>& out) {
               return near(*places, circle, out);
           });
    geo.on(geo::watch,
           [places](const geo::v1::WatchRequest& request, stadium::Sender<geo::v1::GeoEvent>& out) {
               return watch(*places, request, out);
           });
    return geo;
}

std::string token_of(const std::string& path) {
    std::ifstream file(path);
    std::string token;
    if (!(file >> token)) {
        throw std::runtime_error(path + " holds no token");
    }
    return token;
}

int run(const geo::Flags& flags) {
    const auto places =
        std::make_shared<Places>(flags.number<std::size_t>("--devices-max", 1'000'000));
    const std::string listen = flags.text("--listen", geo::address);
    stadium::ServerOptions options{.listen = {listen}};
    options.loops = flags.number<std::uint32_t>("--loops", 1);
    options.discovery = flags.discovery();
    options.advertise = flags.find("--advertise");
    options.zone = flags.find("--zone");
    if (const auto operators = flags.find("--operators")) {
        options.operators_bearer = token_of(*operators);
    }
    const std::chrono::microseconds work(flags.number<std::uint32_t>("--work", 0));
    stadium::Server server(options, service(places, work));
    std::printf("geo 1 listens on %s:%u\n", listen.substr(0, listen.rfind(':')).c_str(),
                static_cast<unsigned>(server.port()));
    std::fflush(stdout);
    // Watches never end by themselves.
    stadium::serve_until_signal(server, std::chrono::seconds(flags.number<unsigned>("--grace", 30)),
                                [&] { places->close(); });
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return run(geo::Flags(count, arguments,
                              {"--listen", "--loops", "--devices-max", "--etcd", "--zookeeper",
                               "--advertise", "--zone", "--operators", "--grace", "--work"}));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "geo-service: %s\n", error.what());
        return 1;
    }
}
