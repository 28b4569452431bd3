// The last location of each device, in memory, and the watchers of changes.
//
// Devices are spread over locks, and one lock is held at a time. A watcher keeps only its position:
// one that is slower than the events gets the newest event of each device, and costs no memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <stadium/waiter.hpp>

#include "geo.hpp"
#include "position.hpp"

namespace geo {

/// Where a device was, and when.
struct Sighting {
    /// By the device's clock.
    std::uint64_t timestamp_ms;
    Position position;
    v1::GeoEvent::Significance significance;

    friend bool operator==(const Sighting&, const Sighting&) = default;

    [[nodiscard]] v1::GeoEvent to_event(const std::string& device) const {
        v1::GeoEvent event;
        event.set_device_id(device);
        event.set_timestamp_ms(timestamp_ms);
        event.set_latitude(position.latitude());
        event.set_longitude(position.longitude());
        event.set_significance(significance);
        return event;
    }
};

/// What became of an event.
enum class Stored {
    /// It is the last location now.
    kept,
    /// The device was seen later than that: nothing changed.
    older,
    /// The device is new, and there is no room for new ones.
    full,
};

class Places {
  public:
    /// Locks: enough that two threads rarely meet.
    static constexpr std::size_t shards = 64;

    /// How far a watcher is in each shard, and where it reads on.
    struct Cursor {
        std::array<std::uint64_t, shards> behind{};
        std::size_t at = 0;
    };

    explicit Places(std::size_t devices_max) : devices_max_(devices_max) {}

    /// Keeps the sighting unless a younger one is known.
    Stored store(const std::string& device, const Sighting& sighting) {
        Shard& shard = shard_of(device);
        {
            const std::lock_guard lock(shard.mutex);
            const auto found = shard.devices.find(device);
            if (found == shard.devices.end()) {
                if (devices_.fetch_add(1) >= devices_max_) {
                    devices_--;
                    return Stored::full;
                }
                const auto added = shard.devices.emplace(device, Known{sighting, 0}).first;
                shard.note(*added);
            } else if (sighting.timestamp_ms < found->second.sighting.timestamp_ms) {
                return Stored::older;
            } else if (!(sighting == found->second.sighting)) {
                found->second.sighting = sighting;
                shard.note(*found);
            }
        }
        wake();
        return Stored::kept;
    }

    /// Where the device was last seen.
    [[nodiscard]] std::optional<Sighting> last(const std::string& device) {
        Shard& shard = shard_of(device);
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.devices.find(device);
        return found == shard.devices.end() ? std::nullopt : std::optional(found->second.sighting);
    }

    /// The devices of one shard that are in a circle.
    [[nodiscard]] std::vector<v1::GeoEvent> near(std::size_t shard, const Position& centre,
                                                 double radius_m) {
        std::vector<v1::GeoEvent> events;
        const std::lock_guard lock(shards_[shard].mutex);
        for (const auto& [device, known] : shards_[shard].devices) {
            if (known.sighting.position.distance_m(centre) <= radius_m) {
                events.push_back(known.sighting.to_event(device));
            }
        }
        return events;
    }

    /// A cursor from which only later changes are read.
    [[nodiscard]] Cursor now() {
        Cursor cursor;
        for (std::size_t shard = 0; shard < shards; shard++) {
            const std::lock_guard lock(shards_[shard].mutex);
            cursor.behind[shard] = shards_[shard].changed;
        }
        return cursor;
    }

    /// What changed since, at most so much; the cursor moves behind it.
    [[nodiscard]] std::vector<v1::GeoEvent> newer(Cursor& cursor, std::size_t at_most) {
        std::vector<v1::GeoEvent> events;
        for (std::size_t visited = 0; visited < shards; visited++) {
            Shard& shard = shards_[cursor.at];
            std::uint64_t& behind = cursor.behind[cursor.at];
            const std::lock_guard lock(shard.mutex);
            for (auto next = shard.changes.upper_bound(behind); next != shard.changes.end();
                 ++next) {
                if (events.size() >= at_most) {
                    return events;
                }
                behind = next->first;
                const auto& [device, known] = *next->second;
                events.push_back(known.sighting.to_event(device));
            }
            cursor.at = (cursor.at + 1) % shards;
        }
        return events;
    }

    /// Suspends a coroutine until something changed since `version()` was read, or the instance
    /// leaves.
    class Change {
      public:
        Change(Places& places, std::uint64_t seen) noexcept : places_(places), seen_(seen) {}
        void default_executor(const stadium::Executor& executor) { executor_ = executor; }
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> coroutine) {
            const std::lock_guard lock(places_.waiting_mutex_);
            if (places_.version_ != seen_ || places_.closed_) {
                return false;
            }
            places_.waiting_.emplace_back(executor_, coroutine);
            return true;
        }
        void await_resume() const noexcept {}

      private:
        Places& places_;
        std::uint64_t seen_;
        stadium::Executor executor_;
    };
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
    [[nodiscard]] Change change_since(std::uint64_t version) noexcept { return {*this, version}; }

    /// Ends all watches, those that begin later too: the instance leaves.
    void close() {
        closed_ = true;
        wake();
    }
    [[nodiscard]] bool is_closed() const noexcept { return closed_; }

  private:
    struct Known {
        Sighting sighting;
        /// The number of its last change.
        std::uint64_t change;
    };
    struct Shard {
        std::mutex mutex;
        std::unordered_map<std::string, Known> devices;
        /// The devices by their last change.
        std::map<std::uint64_t, const std::pair<const std::string, Known>*> changes;
        std::uint64_t changed = 0;

        void note(std::pair<const std::string, Known>& device) {
            changes.erase(device.second.change);
            device.second.change = ++changed;
            changes.emplace(changed, &device);
        }
    };

    Shard& shard_of(const std::string& device) {
        return shards_[std::hash<std::string>()(device) % shards];
    }

    void wake() {
        std::vector<std::pair<stadium::Executor, std::coroutine_handle<>>> waiting;
        {
            const std::lock_guard lock(waiting_mutex_);
            version_++;
            waiting.swap(waiting_);
        }
        for (auto& [executor, coroutine] : waiting) {
            executor([coroutine = coroutine] { coroutine.resume(); });
        }
    }

    const std::size_t devices_max_;
    std::atomic<std::size_t> devices_{0};
    std::array<Shard, shards> shards_;
    std::mutex waiting_mutex_;
    std::vector<std::pair<stadium::Executor, std::coroutine_handle<>>> waiting_;
    /// Counts changes. Changed under the lock.
    std::atomic<std::uint64_t> version_{0};
    std::atomic<bool> closed_{false};
};

}  // namespace geo
