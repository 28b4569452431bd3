// The methods of the service `push`: proto/stadium/v1/push.proto.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/empty.pb.h>
#include <stadium/v1/push.pb.h>

#include <stadium/method.hpp>

namespace stadium::push_methods {

using google::protobuf::Empty;

// All of them may be sent again: a push has an id, and the others change nothing twice.
inline constexpr auto send = unary<v1::NewPush, v1::PushReceipt>("push/Send").idempotent();
inline constexpr auto check = unary<v1::NewPush, Empty>("push/Check").idempotent();
inline constexpr auto edit = unary<v1::NewPush, Empty>("push/Edit").idempotent();
inline constexpr auto cancel = unary<v1::PushNamed, Empty>("push/Cancel").idempotent();
inline constexpr auto find = unary<v1::PushNamed, v1::PushReport>("push/Find").idempotent();
inline constexpr auto list =
    unary<v1::ListPushesRequest, v1::PushReports>("push/List").idempotent();
inline constexpr auto trace = unary<v1::TraceRequest, v1::PushTrace>("push/Trace").idempotent();
inline constexpr auto opened = unary<v1::TraceRequest, Empty>("push/Opened").idempotent();
inline constexpr auto clicked = unary<v1::ClickedRequest, Empty>("push/Clicked").idempotent();
inline constexpr auto preview =
    unary<v1::PreviewRequest, v1::AudiencePreview>("push/Preview").idempotent();
inline constexpr auto change_devices =
    unary<v1::ChangeDevicesRequest, v1::DeviceOutcomes>("push/ChangeDevices").idempotent();
inline constexpr auto remove_devices =
    unary<v1::DevicesNamed, v1::DevicesRemoved>("push/RemoveDevices").idempotent();
inline constexpr auto find_device =
    unary<v1::DeviceNamed, v1::DeviceReport>("push/FindDevice").idempotent();
inline constexpr auto admit = unary<v1::AdmitRequest, Empty>("push/Admit").idempotent();
inline constexpr auto schedule = unary<v1::NewPushSchedule, Empty>("push/Schedule").idempotent();
inline constexpr auto pause = unary<v1::PauseScheduleRequest, Empty>("push/Pause").idempotent();
inline constexpr auto unschedule =
    unary<v1::PushScheduleNamed, Empty>("push/Unschedule").idempotent();
inline constexpr auto schedules =
    unary<v1::AppNamed, v1::PushSchedules>("push/Schedules").idempotent();

}  // namespace stadium::push_methods
