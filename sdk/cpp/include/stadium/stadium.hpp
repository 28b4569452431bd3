// Stadium's RPC clients and servers for C++20. sdk/cpp/README.md is the guide.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stadium/client.hpp>
#include <stadium/codec.hpp>
#include <stadium/error.hpp>
#include <stadium/future.hpp>
#include <stadium/local_client.hpp>
#include <stadium/log.hpp>
#include <stadium/method.hpp>
#include <stadium/refusal.hpp>
#include <stadium/server.hpp>
#include <stadium/service.hpp>
#include <stadium/signals.hpp>
#include <stadium/stream.hpp>
#include <stadium/task.hpp>
#include <stadium/trace.hpp>
