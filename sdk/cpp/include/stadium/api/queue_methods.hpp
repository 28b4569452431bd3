// The methods of the service `queue`: proto/stadium/v1/queue.proto.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/empty.pb.h>
#include <stadium/v1/queue.pb.h>

#include <stadium/method.hpp>

namespace stadium::queue_methods {

using google::protobuf::Empty;

inline constexpr auto put = unary<v1::PutRequest, v1::Placed>("queue/Put");
inline constexpr auto reserve = unary<v1::ReserveRequest, v1::ReservedJobs>("queue/Reserve");
inline constexpr auto settle = unary<v1::SettleRequest, v1::Outcomes>("queue/Settle").idempotent();
inline constexpr auto release = unary<v1::ReleaseRequest, v1::Outcomes>("queue/Release");
inline constexpr auto extend = unary<v1::ExtendRequest, v1::Outcomes>("queue/Extend").idempotent();
inline constexpr auto bury = unary<v1::BuryRequest, v1::Outcomes>("queue/Bury");
inline constexpr auto forward = unary<v1::ForwardRequest, v1::Placed>("queue/Forward");
inline constexpr auto work = stream<v1::WorkRequest, v1::ReservedJob>("queue/Work");
inline constexpr auto kick = unary<v1::KickRequest, v1::Counted>("queue/Kick");
inline constexpr auto redrive = unary<v1::RedriveRequest, v1::Counted>("queue/Redrive");
inline constexpr auto remove = unary<v1::DeleteRequest, v1::Outcomes>("queue/Delete");
inline constexpr auto edit = unary<v1::EditRequest, Empty>("queue/Edit");
inline constexpr auto purge = unary<v1::PurgeRequest, v1::Counted>("queue/Purge");
inline constexpr auto pause = unary<v1::QueueNamed, Empty>("queue/Pause").idempotent();
inline constexpr auto resume = unary<v1::QueueNamed, Empty>("queue/Resume").idempotent();
inline constexpr auto declare = unary<v1::DeclareRequest, Empty>("queue/Declare").idempotent();
inline constexpr auto drop = unary<v1::QueueNamed, Empty>("queue/Drop");
inline constexpr auto schedule = unary<v1::ScheduleRequest, Empty>("queue/Schedule").idempotent();
inline constexpr auto unschedule = unary<v1::UnscheduleRequest, Empty>("queue/Unschedule");
inline constexpr auto peek = unary<v1::PeekRequest, v1::Jobs>("queue/Peek").idempotent();
inline constexpr auto find = unary<v1::JobNamed, v1::Job>("queue/Find").idempotent();
inline constexpr auto history = unary<v1::JobNamed, v1::JobHistory>("queue/History").idempotent();
inline constexpr auto stats = unary<v1::QueueNamed, v1::QueueStats>("queue/Stats").idempotent();
inline constexpr auto list = unary<v1::ListRequest, v1::QueueList>("queue/List").idempotent();
inline constexpr auto schedules =
    unary<v1::QueueNamed, v1::ScheduleList>("queue/Schedules").idempotent();

}  // namespace stadium::queue_methods
