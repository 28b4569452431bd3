// Workers against the real server: nothing is lost when a worker or the server is killed, nothing
// is settled twice, and a drain leaves nothing behind.
#include <algorithm>
#include <map>
#include <set>

#include <fcntl.h>

#include <stadium/api/worker.hpp>

#include "stadium_server.hpp"

using namespace std::chrono_literals;
using stadium::Job;
using stadium::NewJob;
using stadium::Queue;
using stadium::Worker;

/// A queue whose lost jobs come back soon.
static Queue declared(const stadium::Api& api, const std::string& name) {
    stadium::v1::QueueSettings settings;
    settings.set_lease_ms(1000);
    settings.set_backoff_first_ms(10);
    settings.set_attempts_max(1000);
    Queue queue(api, name);
    queue.declare(settings).get();
    return queue;
}

static void put_many(const Queue& queue, int jobs) {
    std::vector<NewJob> batch;
    for (int nth = 0; nth < jobs; nth++) {
        batch.push_back(NewJob("job-" + std::to_string(nth) + '\n'));
        if (batch.size() == 1000 || nth + 1 == jobs) {
            queue.put(batch).get();
            batch.clear();
        }
    }
}

/// A worker program: each job appends its payload to a file after `work`.
static int work(const std::string& address, const std::string& key_file, const std::string& queue,
                const std::string& effects, std::chrono::milliseconds time) {
    const int file = open(effects.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const stadium::Api api({.instances = {address}}, stadium::ApiKey::file(key_file));
    Worker worker(api, {.queue = queue, .concurrency = 8, .lease = 1s}, [&](const Job& job) {
        std::this_thread::sleep_for(time);
        CHECK(write(file, job.payload().data(), job.payload().size()) > 0);
    });
    stadium::work_until_signal(worker, 10s);
    return 0;
}

/// Starts the worker program.
static std::unique_ptr<Child> start_worker(const StadiumServer& server, const std::string& name,
                                           const std::string& queue, const std::string& effects,
                                           int milliseconds) {
    return std::make_unique<Child>(
        std::vector<std::string>{"/proc/self/exe", server.address(), server.admin_key_file(), queue,
                                 effects, std::to_string(milliseconds)},
        server.folder() + '/' + name);
}

static std::vector<std::string> lines_of(const std::string& path) {
    std::istringstream text(Child::read(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// The figures, also while the server restarts.
static stadium::v1::QueueStats stats_of(const Queue& queue) {
    while (true) {
        try {
            return queue.stats().get();
        } catch (const stadium::Unavailable&) {
        } catch (const stadium::ConnectionBroken&) {
        } catch (const stadium::Busy&) {
        }
        std::this_thread::sleep_for(10ms);
    }
}

static void killed_workers_and_a_killed_server_lose_nothing(StadiumServer& server) {
    const Queue queue = declared(server.api(), "many");
    const std::string effects = server.folder() + "/effects";
    put_many(queue, 2000);
    const auto settled = [&] { return stats_of(queue).settled(); };
    auto first = start_worker(server, "first", "many", effects, 2);
    auto second = start_worker(server, "second", "many", effects, 2);
    eventually([&] { return settled() > 200; }, "jobs are settled");
    first->signal(SIGKILL);
    CHECK(first->wait() == 128 + SIGKILL);
    CHECK(settled() < 2000);
    first = start_worker(server, "third", "many", effects, 2);
    eventually([&] { return settled() > 700; }, "jobs are settled by the next worker");
    CHECK(settled() < 2000);
    server.restart();
    eventually([&] { return settled() == 2000; }, "all jobs are settled");
    const auto stats = stats_of(queue);
    CHECK(stats.delayed() + stats.due() + stats.reserved() + stats.buried() + stats.dead() == 0);
    const auto lines = lines_of(effects);
    CHECK(std::set<std::string>(lines.begin(), lines.end()).size() == 2000);
    for (const auto& worker : {first.get(), second.get()}) {
        worker->signal(SIGTERM);
        CHECK(worker->wait() == 0);
    }
    CHECK(stats_of(queue).settled() == 2000);
}

static void sigterm_drains(const StadiumServer& server) {
    const Queue queue = declared(server.api(), "drained");
    const std::string effects = server.folder() + "/drained";
    put_many(queue, 100);
    const auto worker = start_worker(server, "draining", "drained", effects, 100);
    eventually([&] { return lines_of(effects).size() > 10; }, "jobs are done");
    worker->signal(SIGTERM);
    CHECK(worker->wait() == 0);
    const auto lines = lines_of(effects);
    const auto stats = queue.stats().get();
    CHECK(lines.size() < 100 && lines.size() == stats.settled());
    CHECK(std::set<std::string>(lines.begin(), lines.end()).size() == lines.size());
    // A job may have been on its way to it: its lease ends.
    eventually([&] { return queue.stats().get().reserved() == 0; }, "nothing is held");
    const auto after = queue.stats().get();
    CHECK(after.settled() + after.due() + after.delayed() == 100);
}

static void a_handler_that_does_not_end_is_left_behind(const stadium::Api& api) {
    const Queue queue = declared(api, "stuck");
    queue.put("forever").get();
    auto runs = std::make_shared<std::atomic<bool>>(false);
    auto ended = std::make_shared<std::atomic<bool>>(false);
    Worker worker(api, {.queue = "stuck", .lease = 30s}, [runs, ended](const Job& job) {
        *runs = true;
        while (!job.is_lost()) {
            std::this_thread::sleep_for(1ms);
        }
        *ended = true;
    });
    eventually([&] { return runs->load(); }, "the handler runs");
    const auto began = std::chrono::steady_clock::now();
    const auto drained = worker.drain(100ms);
    CHECK(std::chrono::steady_clock::now() - began < 6s);
    CHECK(drained.given_back == 1 && drained.counts.released == 1 && drained.counts.settled == 0);
    CHECK(queue.stats().get().reserved() == 0);
    eventually([&] { return ended->load(); }, "the handler sees that its job is gone");
}

static void a_result_is_what_the_handler_throws(const stadium::Api& api) {
    const Queue queue = declared(api, "results");
    const auto ids = queue
                         .put({NewJob("fails"), NewJob("bad"), NewJob("later"), NewJob("forwarded"),
                               NewJob("fine")})
                         .get();
    std::mutex mutex;
    std::map<std::string, int> attempts;
    const auto handler = [&](const Job& job) -> stadium::Task<> {
        const std::string payload = job.payload();
        int attempt = 0;
        {
            const std::lock_guard lock(mutex);
            attempt = ++attempts[payload];
        }
        CHECK(job.attempt() == static_cast<std::uint32_t>(attempt));
        if (payload == "fails" && attempt == 1) {
            throw std::runtime_error("zu sp\xc3\xa4t \xff");
        }
        if (payload == "bad") {
            throw stadium::Bury("no such address");
        }
        if (payload == "later" && attempt == 1) {
            throw stadium::Retry(50ms, "not open yet");
        }
        if (payload == "forwarded") {
            co_await queue.forward(job.lease(), "results.next");
            job.mark_settled();
        }
    };
    Worker worker(api, {.queue = "results", .concurrency = 4}, handler);
    eventually([&] { return worker.counts().settled == 4; }, "all but one are settled");
    const auto counts = worker.drain(5s).counts;
    CHECK(counts.settled == 4 && counts.released == 2 && counts.buried == 1 && counts.lost == 0);
    worker.check();
    CHECK(queue.find(ids[1].id).get().reason() == "no such address");
    CHECK(queue.find(ids[1].id).get().state() == stadium::v1::JOB_STATE_BURIED);
    const auto reason_of = [&](stadium::JobId job) {
        const auto history = queue.history(job).get();
        for (const auto& entry : history.entries()) {
            if (entry.what() == stadium::v1::HistoryEntry::RELEASED) return entry.reason();
        }
        return std::string();
    };
    CHECK(reason_of(ids[0].id) == "zu sp\xc3\xa4t ?");
    CHECK(reason_of(ids[2].id) == "not open yet");
    const auto forwarded = Queue(api, "results.next").reserve().get();
    CHECK(forwarded.size() == 1 && forwarded[0].payload() == "forwarded");
}

static void a_long_handler_keeps_its_job_and_takes_no_more(const stadium::Api& api) {
    const Queue queue = declared(api, "long");
    put_many(queue, 6);
    std::atomic<int> running{0}, most{0}, first_attempts{0};
    Worker worker(api, {.queue = "long", .concurrency = 3, .lease = 1s}, [&](const Job& job) {
        int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(1300ms);
        first_attempts += job.attempt() == 1;
        running--;
    });
    eventually([&] { return running == 3; }, "as many run as may");
    const auto until = std::chrono::steady_clock::now() + 600ms;
    while (std::chrono::steady_clock::now() < until) {
        CHECK(queue.stats().get().reserved() == 3);
        std::this_thread::sleep_for(20ms);
    }
    eventually([&] { return worker.counts().settled == 6; }, "the jobs are done");
    CHECK(most == 3 && first_attempts == 6);
}

static void a_revoked_key_stops_the_worker(const StadiumServer& server) {
    const Queue queue = declared(server.api(), "revoked");
    const StadiumServer::Key key = server.make_key("worker", "to-be-revoked");
    const stadium::Api api(server.client_options(), stadium::ApiKey::text(key.secret));
    std::atomic<int> done{0};
    Worker worker(api, {.queue = "revoked"}, [&](const Job&) { done++; });
    queue.put("before").get();
    eventually([&] { return worker.counts().settled == 1; }, "the key works");
    server.revoke_key(key);
    std::string text;
    eventually(
        [&] {
            // A worker that waits learns of it by the next job, and the server believes a key for
            // a quarter of a second.
            queue.put("after").get();
            std::this_thread::sleep_for(20ms);
            try {
                worker.check();
                return false;
            } catch (const stadium::Rejected& rejected) {
                CHECK(rejected.code() == "NODE-009");
                text = rejected.what();
                return true;
            }
        },
        "the worker has stopped");
    CHECK(text.find(key.secret) == std::string::npos);
    const auto began = std::chrono::steady_clock::now();
    worker.drain(5s);
    CHECK(std::chrono::steady_clock::now() - began < 10s);
    THROWS(stadium::Rejected, stadium::work_until_signal(worker));
}

static void wrong_options_are_refused(const stadium::Api& api) {
    const auto nothing = [](const Job&) {};
    const std::vector<stadium::WorkerOptions> wrong = {
        {.queue = ""},
        {.queue = "q", .concurrency = 0},
        {.queue = "q", .concurrency = 1001},
        {.queue = "q", .lease = 999ms},
        {.queue = "q", .settle_batch_max = 0},
        {.queue = "q", .settle_delay = 1001ms},
        {.queue = "q", .retry_min = 2s, .retry_max = 1s}};
    for (const auto& options : wrong) {
        THROWS(stadium::InvalidArgument, Worker(api, options, nothing));
    }
    // The server refuses the name.
    Worker worker(api, {.queue = "no/name"}, nothing);
    THROWS(stadium::Rejected, stadium::work_until_signal(worker));
}

int main(int count, char** arguments) {
    if (count == 6) {
        return work(arguments[1], arguments[2], arguments[3], arguments[4],
                    std::chrono::milliseconds(std::stoi(arguments[5])));
    }
    StadiumServer server;
    const stadium::Api api = server.api();
    wrong_options_are_refused(api);
    a_result_is_what_the_handler_throws(api);
    a_long_handler_keeps_its_job_and_takes_no_more(api);
    a_handler_that_does_not_end_is_left_behind(api);
    a_revoked_key_stops_the_worker(server);
    sigterm_drains(server);
    killed_workers_and_a_killed_server_lose_nothing(server);
    google::protobuf::ShutdownProtobufLibrary();
    std::puts("worker: all held");
}
