// Push: devices, audiences, pushes and schedules of an app, by the service `push`.
//
// docs/push.md and docs/audiences.md describe what they do. Every request may be sent again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <stadium/api/api.hpp>
#include <stadium/api/new_push.hpp>
#include <stadium/api/push_methods.hpp>

namespace stadium {

/// Devices that one request may name; the server refuses more.
inline constexpr std::size_t devices_of_request_max = 1000;
/// Devices that one call may name: a hundred requests, which are under way at once.
inline constexpr std::size_t devices_of_call_max = 100'000;

/// A push that the server has accepted.
struct AcceptedPush {
    Uuid id;
    /// The same push had been accepted before: nothing happened now.
    bool duplicate;
};

/// A change of one device.
class DeviceChange {
  public:
    /// Registers the device where it is new. `json` is what changes: the object of
    /// docs/audiences.md, such as `{"platform": "ios", "tags": {"add": ["vip"]}}`; empty changes
    /// nothing.
    explicit DeviceChange(std::string device, std::string json = {})
        : device_(std::move(device)), json_(std::move(json)) {}

    [[nodiscard]] const std::string& device() const noexcept { return device_; }
    [[nodiscard]] const std::string& json() const noexcept { return json_; }

  private:
    std::string device_;
    std::string json_;
};

/// The push platform of an app. Cheap to copy; any thread may use it.
class Push {
  public:
    explicit Push(Api api, std::string app = "default")
        : api_(std::move(api)), app_(std::move(app)) {}

    /// Accepts a push. It is on disk when the reply is there. The same id with other content is
    /// Rejected.
    Reply<AcceptedPush> send(const NewPush& push) const {
        return api_.reply<AcceptedPush>(push_methods::send, of_app(push),
                                        [id = push.id()](const v1::PushReceipt& receipt) {
                                            return AcceptedPush{id, receipt.duplicate()};
                                        });
    }
    /// Whether send would accept it now: throws what send would throw.
    Reply<void> check(const NewPush& push) const {
        return api_.done(push_methods::check, of_app(push));
    }
    /// Changes the push of the same id, which has not started, into this one.
    Reply<void> edit(const NewPush& push) const {
        return api_.done(push_methods::edit, of_app(push));
    }
    /// Ends a push: nobody else gets it.
    Reply<void> cancel(const Uuid& push) const {
        return api_.done(push_methods::cancel, named(push));
    }
    /// A push, and what became of it.
    Reply<v1::PushReport> find(const Uuid& push) const {
        return api_.reply(push_methods::find, named(push));
    }
    /// The newest pushes, 1 to 1,000. `before` is the last one of the page before.
    Reply<v1::PushReports> list(std::uint32_t pushes_max = 100,
                                const v1::PushReport* before = nullptr) const {
        v1::ListPushesRequest request;
        request.set_app(app_);
        request.set_pushes_max(pushes_max);
        if (before != nullptr) {
            request.set_before_ms(before->accepted_ms());
            request.set_before_push(before->push().id());
        }
        return api_.reply(push_methods::list, request);
    }
    /// Why a device did or did not get a push.
    Reply<v1::PushTrace> trace(const Uuid& push, std::string device) const {
        return api_.reply(push_methods::trace, traced(push, std::move(device)));
    }
    /// The device's user opened the push.
    Reply<void> opened(const Uuid& push, std::string device) const {
        return api_.done(push_methods::opened, traced(push, std::move(device)));
    }
    /// The device's user clicked the push, or an action of it.
    Reply<void> clicked(const Uuid& push, std::string device, std::string action = {}) const {
        v1::ClickedRequest request;
        request.set_app(app_);
        request.set_push(push.bytes());
        request.set_device(std::move(device));
        request.set_action(std::move(action));
        return api_.done(push_methods::clicked, request);
    }
    /// How many devices a selector reaches, and which clause keeps others out. `sample_max` is the
    /// number of device ids to show, 0 to 100.
    Reply<v1::AudiencePreview> preview(std::string selector, std::uint32_t sample_max = 0) const {
        v1::PreviewRequest request;
        request.set_app(app_);
        request.set_selector(std::move(selector));
        request.set_sample_max(sample_max);
        return api_.reply(push_methods::preview, request);
    }

    /// Registers or changes devices, at most 100,000: 1,000 in one request, the requests at once.
    /// Each device has its outcome, in the order of `changes`.
    Reply<std::vector<v1::DeviceOutcome>> change_devices(
        const std::vector<DeviceChange>& changes) const {
        std::vector<Future<v1::DeviceOutcomes>> calls;
        in_parts(changes, [&](auto first, auto last) {
            v1::ChangeDevicesRequest request;
            request.set_app(app_);
            for (; first != last; ++first) {
                v1::DeviceChange& change = *request.add_devices();
                change.set_device(first->device());
                change.set_changes(first->json());
            }
            calls.push_back(api_.call(push_methods::change_devices, request));
        });
        return Api::gathered<std::vector<v1::DeviceOutcome>, v1::DeviceOutcomes>(
            std::move(calls), [](std::vector<v1::DeviceOutcomes> answers) {
                std::vector<v1::DeviceOutcome> outcomes;
                for (v1::DeviceOutcomes& answer : answers) {
                    std::move(answer.mutable_outcomes()->begin(), answer.mutable_outcomes()->end(),
                              std::back_inserter(outcomes));
                }
                return outcomes;
            });
    }
    /// One device. True where it is new. Throws where the change was refused.
    Reply<bool> change_device(const DeviceChange& change) const {
        v1::ChangeDevicesRequest request;
        request.set_app(app_);
        v1::DeviceChange& added = *request.add_devices();
        added.set_device(change.device());
        added.set_changes(change.json());
        return api_.reply<bool>(
            push_methods::change_devices, request, [](const v1::DeviceOutcomes& outcomes) {
                const v1::DeviceOutcome& outcome = detail::only(outcomes.outcomes());
                if (outcome.has_refused()) {
                    detail::throw_refused(outcome.refused());
                }
                return outcome.registered();
            });
    }
    /// Forgets devices, at most 100,000, with everything that they are owed, and cuts their
    /// connections. Returns how many there were.
    Reply<std::uint64_t> remove_devices(const std::vector<std::string>& devices) const {
        std::vector<Future<v1::DevicesRemoved>> calls;
        in_parts(devices, [&](auto first, auto last) {
            v1::DevicesNamed request;
            request.set_app(app_);
            request.mutable_devices()->Add(first, last);
            calls.push_back(api_.call(push_methods::remove_devices, request));
        });
        return Api::gathered<std::uint64_t, v1::DevicesRemoved>(
            std::move(calls), [](const std::vector<v1::DevicesRemoved>& answers) {
                std::uint64_t removed = 0;
                for (const v1::DevicesRemoved& answer : answers) {
                    removed += answer.devices();
                }
                return removed;
            });
    }
    /// A device, and what it is owed.
    Reply<v1::DeviceReport> find_device(std::string device) const {
        v1::DeviceNamed request;
        request.set_app(app_);
        request.set_device(std::move(device));
        return api_.reply(push_methods::find_device, request);
    }
    /// Gives a device a credential: the SHA-256, 32 bytes, of the secret that it connects with.
    Reply<void> admit(std::string device, std::string secret_sha256) const {
        v1::AdmitRequest request = admission(std::move(device));
        request.set_secret_sha256(std::move(secret_sha256));
        return api_.done(push_methods::admit, request);
    }
    /// Takes a device's credential away.
    Reply<void> remove_credential(std::string device) const {
        v1::AdmitRequest request = admission(std::move(device));
        request.set_no_credential(true);
        return api_.done(push_methods::admit, request);
    }
    /// Keeps a device out, and cuts its connection.
    Reply<void> revoke(std::string device) const {
        v1::AdmitRequest request = admission(std::move(device));
        request.set_revoked(true);
        return api_.done(push_methods::admit, request);
    }
    /// Lets a revoked device in again.
    Reply<void> readmit(std::string device) const {
        v1::AdmitRequest request = admission(std::move(device));
        request.set_revoked(false);
        return api_.done(push_methods::admit, request);
    }

    /// Makes a push at each time of a cron expression: minute, hour, day of month, month, day of
    /// week; or @daily and the like. `zone` is an IANA time zone; empty: each device's own. The
    /// same name replaces the schedule.
    Reply<void> schedule(const std::string& name, const NewPush& push, const std::string& cron,
                         const std::string& zone = {},
                         std::chrono::milliseconds late = std::chrono::milliseconds(0)) const {
        v1::NewPushSchedule request;
        request.set_name(name);
        request.set_cron(cron);
        request.set_zone(zone);
        request.set_late_ms(detail::span_of(late, "the lateness"));
        *request.mutable_push() = of_app(push);
        return api_.done(push_methods::schedule, request);
    }
    /// Holds a schedule.
    Reply<void> pause(std::string name) const { return paused(std::move(name), true); }
    /// Lets a schedule go on; what it missed is skipped.
    Reply<void> resume(std::string name) const { return paused(std::move(name), false); }
    /// Forgets a schedule. Pushes that it made stay.
    Reply<void> unschedule(std::string name) const {
        v1::PushScheduleNamed request;
        request.set_app(app_);
        request.set_name(std::move(name));
        return api_.done(push_methods::unschedule, request);
    }
    /// All schedules of the app.
    Reply<v1::PushSchedules> schedules() const {
        v1::AppNamed request;
        request.set_app(app_);
        return api_.reply(push_methods::schedules, request);
    }

  private:
    /// Calls `send` for each part that fits a request. Nothing named is nothing sent.
    template <class Item, class Send>
    static void in_parts(const std::vector<Item>& items, Send send) {
        if (items.size() > devices_of_call_max) {
            throw InvalidArgument("a call names at most 100,000 devices, not " +
                                  std::to_string(items.size()));
        }
        for (auto first = items.begin(); first != items.end();) {
            const auto left = static_cast<std::size_t>(items.end() - first);
            const auto last =
                first + static_cast<std::ptrdiff_t>(std::min(left, devices_of_request_max));
            send(first, last);
            first = last;
        }
    }

    [[nodiscard]] v1::NewPush of_app(const NewPush& push) const {
        v1::NewPush message = push.message();
        message.set_app(app_);
        return message;
    }
    [[nodiscard]] v1::PushNamed named(const Uuid& push) const {
        v1::PushNamed request;
        request.set_app(app_);
        request.set_push(push.bytes());
        return request;
    }
    [[nodiscard]] v1::TraceRequest traced(const Uuid& push, std::string device) const {
        v1::TraceRequest request;
        request.set_app(app_);
        request.set_push(push.bytes());
        request.set_device(std::move(device));
        return request;
    }
    [[nodiscard]] v1::AdmitRequest admission(std::string device) const {
        v1::AdmitRequest request;
        request.set_app(app_);
        request.set_device(std::move(device));
        return request;
    }
    Reply<void> paused(std::string name, bool is_paused) const {
        v1::PauseScheduleRequest request;
        request.set_app(app_);
        request.set_name(std::move(name));
        request.set_paused(is_paused);
        return api_.done(push_methods::pause, request);
    }

    Api api_;
    std::string app_;
};

}  // namespace stadium
