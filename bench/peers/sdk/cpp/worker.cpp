// The worker of the queue rows: puts jobs, then works on all of them; prints one line of JSON.
//
//   worker --connect HOST:PORT --queue NAME --jobs N --concurrency N
//
// with an API key in STADIUM_KEY.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <stadium/api/queue.hpp>
#include <stadium/api/worker.hpp>

namespace {

using Clock = std::chrono::steady_clock;

/// Jobs of one put, as of `stadium queue put`.
constexpr int batch = 1000;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

int run(const std::map<std::string, std::string>& arguments) {
    const int jobs = std::stoi(arguments.at("--jobs"));
    const stadium::Api api({.instances = {arguments.at("--connect")}},
                           stadium::ApiKey::environment());
    const stadium::Queue queue(api, arguments.at("--queue"));

    Clock::time_point began = Clock::now();
    for (int first = 0; first < jobs; first += batch) {
        std::vector<stadium::NewJob> some;
        for (int nth = first; nth < std::min(first + batch, jobs); nth++) {
            char payload[32];
            std::snprintf(payload, sizeof payload, "job %08d", nth);
            some.emplace_back(std::string(payload));
        }
        static_cast<void>(queue.put(some).get());
    }
    const double put_s = seconds_since(began);

    // A plain function on one thread: handlers that do nothing gain nothing from more.
    std::atomic<int> left = jobs;
    began = Clock::now();
    stadium::Worker worker(
        api,
        {.queue = arguments.at("--queue"),
         .concurrency = static_cast<std::uint32_t>(std::stoul(arguments.at("--concurrency"))),
         .threads = 1},
        [&left](const stadium::Job&) {
            left--;
            left.notify_one();
        });
    for (int now = left; now > 0; now = left) {
        left.wait(now);
    }
    const auto drained = worker.drain();
    const double work_s = seconds_since(began);
    std::printf("{\"put_s\":%g,\"work_s\":%g,\"settled\":%llu}\n", put_s, work_s,
                static_cast<unsigned long long>(drained.counts.settled));
    return 0;
}

}  // namespace

int main(int count, char** words) {
    std::map<std::string, std::string> arguments;
    for (int nth = 1; nth + 1 < count; nth += 2) {
        arguments[words[nth]] = words[nth + 1];
    }
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
