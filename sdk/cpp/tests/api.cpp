// Wallets, pushes, queues and keys against the real server.
#include <algorithm>
#include <atomic>
#include <map>

#include <stadium/api/push.hpp>
#include <stadium/api/queue.hpp>
#include <stadium/api/receipt.hpp>
#include <stadium/api/wallet.hpp>

#include "stadium_server.hpp"

using namespace std::chrono_literals;
using stadium::Amount;
using stadium::NewAccount;
using stadium::NewJob;
using stadium::NewPush;
using stadium::Queue;
using stadium::Transfer;
using stadium::Uuid;
using stadium::Wallet;

static void votes_are_never_overdrawn(const stadium::Api& api) {
    const Wallet wallet(api);
    wallet.declare("VOTE", 0).get();
    CHECK(wallet.open(NewAccount("fan", "VOTE")).get());
    CHECK(!wallet.open(NewAccount("fan", "VOTE")).get());
    wallet.deposit(Amount(100, "VOTE"), "fan", Uuid::random()).get();
    std::atomic<int> booked{0}, refused{0};
    std::vector<std::thread> voters;
    for (int voter = 0; voter < 8; voter++) {
        voters.emplace_back([&] {
            std::vector<stadium::Reply<stadium::Booked>> votes;
            for (int vote = 0; vote < 50; vote++) {
                votes.push_back(wallet.transfer(
                    Transfer::post(Amount(1, "VOTE")).from("fan").to("@candidate:7")));
            }
            for (auto& vote : votes) {
                try {
                    CHECK(!vote.get().duplicate);
                    booked++;
                } catch (const stadium::Rejected& rejected) {
                    CHECK(rejected.code() == "WAL-023");
                    refused++;
                }
            }
        });
    }
    for (std::thread& voter : voters) {
        voter.join();
    }
    CHECK(booked == 100 && refused == 300);
    CHECK(wallet.balance("fan", "VOTE").get().posted() == 0);
    CHECK(wallet.balance("@candidate:7", "VOTE").get().posted() == 100);
}

/// Ids of transfers, by what they are.
using Kinds = std::vector<std::pair<std::string, Uuid>>;

static Kinds transfers_of_each_kind_are_booked_once(const stadium::Api& api) {
    const Wallet wallet(api);
    wallet.declare("EUR", 2).get();
    const auto opened =
        wallet
            .open({NewAccount("alice", "EUR"), NewAccount("bob", "EUR").ceiling(1000),
                   NewAccount("eve", "USD")})
            .get();
    CHECK(opened.size() == 3 && !opened[0].has_refused() && opened[2].has_refused());
    const Uuid payment = Uuid::random();
    CHECK(Uuid::parse(payment.text()) == payment);
    CHECK(!wallet.deposit(Amount(1250, "EUR"), "alice", payment).get().duplicate);
    const auto again = wallet.deposit(Amount(1250, "EUR"), "alice", payment).get();
    CHECK(again.duplicate && again.id == payment);
    CHECK(THROWS(stadium::Rejected, wallet.deposit(Amount(1251, "EUR"), "alice", payment).get())
              .code() == "WAL-026");
    THROWS(stadium::InvalidArgument,
           wallet.deposit(Amount(1, "EUR"), "alice", payment, "bob").get());

    const auto hold = wallet.hold(Amount(500, "EUR"), 60s, "alice", "@shop").get();
    CHECK(wallet.balance("alice", "EUR").get().available() == 750);
    CHECK(wallet.holds("alice").get().holds_size() == 1);
    const auto captured = wallet.capture(hold.id, 200).get();
    CHECK(wallet.balance("alice", "EUR").get().available() == 1050);
    const auto reversed = wallet.reverse(captured.id).get();
    const auto other = wallet.hold(Amount(500, "EUR"), 60s, "alice", "@shop").get();
    const auto voided = wallet.void_hold(other.id).get();
    CHECK(wallet.balance("alice", "EUR").get().available() == 1250);
    CHECK(wallet.find(other.id).get().state() == stadium::v1::BOOK_STATE_VOIDED);

    // Bob may hold 1000: two linked transfers are refused, of two single ones the second is.
    const auto pay = [](std::uint64_t cents) {
        return Transfer::post(Amount(cents, "EUR")).from("@bank").to("bob").reference("lunch");
    };
    const auto both = THROWS(stadium::Rejected,
                             wallet.transfer({pay(900), pay(200)}, stadium::Booking::linked).get());
    CHECK(both.code() == "WAL-032");
    const auto single = wallet.transfer({pay(900), pay(200)}).get();
    CHECK(!single[0].has_refused() && single[1].refused().code() == "WAL-024");
    const auto page = wallet.history("bob", "EUR").get();
    CHECK(page.entries_size() == 1 && page.entries(0).balance() == 900 &&
          page.entries(0).transfer().reference() == "lunch");
    stadium::v1::EntriesRequest all;
    all.set_wallet("alice");
    all.set_asset("EUR");
    std::int64_t sum = 0;
    for (const auto& entry : wallet.statement(all)) {
        const auto amount = static_cast<std::int64_t>(entry.transfer().amount());
        sum += entry.direction() == stadium::v1::DIRECTION_CREDIT ? amount : -amount;
    }
    CHECK(sum == 1250);
    CHECK(THROWS(stadium::Rejected, wallet.balance("nobody", "EUR").get()).code() == "WAL-021");
    CHECK(wallet.balances({"alice", "bob"}).get().accounts_size() == 2);
    CHECK(wallet.balance_at("alice", "EUR", stadium::time_of(1)).get().posted() == 0);
    CHECK(wallet.assets().get().assets_size() == 2);
    THROWS(stadium::InvalidArgument, Transfer::void_hold(hold.id).from("alice"));
    return {{"post", payment},
            {"hold", hold.id},
            {"capture", captured.id},
            {"reverse", reversed.id},
            {"void", voided.id}};
}

static void receipts_prove_transfers(const StadiumServer& server, const Kinds& kinds) {
    const Wallet wallet(server.api());
    const auto booked =
        wallet
            .transfer(Transfer::post(Amount(77, "EUR")).from("alice").to("@shop").metadata("\0\1"))
            .get();
    std::vector<stadium::Hash> roots;
    std::string json;
    // A seal is written a second after the transfer.
    eventually(
        [&] {
            Child command(
                {std::getenv("STADIUM_BIN"), "wallet", "receipt", server.data(), booked.id.text()},
                server.folder() + "/receipt");
            const bool is_sealed = command.wait() == 0;
            json = command.out();
            return is_sealed;
        },
        "the transfer is sealed");
    json.erase(json.find_last_not_of(" \n") + 1);
    const auto list = wallet.roots().get();
    for (const auto& root : list.roots()) {
        roots.emplace_back();
        std::copy(root.root().begin(), root.root().end(), roots.back().begin());
    }
    const auto proved = stadium::check_receipt(json, roots);
    CHECK(proved.transfer == booked.id && proved.kind == "post" && proved.amount == 77);
    CHECK(proved.debit == "alice" && proved.credit == "@shop" && proved.asset == "EUR");
    CHECK(proved.scale == 2 && proved.booked_at == booked.at);
    CHECK(stadium::check_receipt(json, {stadium::parse_hash(stadium::hex_of_hash(proved.root))})
              .amount == 77);
    for (const auto& [kind, id] : kinds) {
        const auto shown = server.command({"wallet", "receipt", server.data(), id.text()});
        const auto of_kind = stadium::check_receipt(shown, roots);
        CHECK(of_kind.kind == kind && of_kind.transfer == id && of_kind.asset == "EUR");
        const std::map<std::string, std::string> debits = {{"post", "@bank"}, {"reverse", "@shop"}};
        CHECK(of_kind.debit == (debits.contains(kind) ? debits.at(kind) : "alice"));
    }
    // A root of somebody else, and no root.
    THROWS(stadium::InvalidReceipt, stadium::check_receipt(json, {stadium::sha256({"x"})}));
    THROWS(stadium::InvalidReceipt, stadium::check_receipt(json, {}));
    // Every hash and every event counts.
    std::size_t altered = 0;
    const std::size_t end = json.find("\"trees\"");
    for (std::size_t quote = json.find('"', json.find("\"proofs\"")); quote < end;) {
        const std::size_t next = json.find('"', quote + 1);
        if (const std::string text = json.substr(quote + 1, next - quote - 1);
            text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == text.npos) {
            std::string wrong = json;
            char& digit = wrong[quote + 1 + altered % text.size()];
            digit = digit == '0' ? '1' : '0';
            THROWS(stadium::InvalidReceipt, stadium::check_receipt(wrong, roots));
            altered++;
        }
        quote = next;
    }
    CHECK(altered > 10);
    // Receipts that are cut, and one with a field that is not known.
    for (std::size_t size = 0; size < json.size(); size += 13) {
        THROWS(stadium::InvalidReceipt, stadium::check_receipt(json.substr(0, size), roots));
    }
    THROWS(stadium::InvalidReceipt,
           stadium::check_receipt("{\"more\": 1," + json.substr(1), roots));
}

static void pushes_are_sent_and_traced(const stadium::Api& api) {
    const stadium::Push push(api);
    // The odd ones have one owner, who may have 200 devices on a shard.
    std::vector<stadium::DeviceChange> changes;
    for (int nth = 0; nth < 2500; nth++) {
        changes.emplace_back("phone-" + std::to_string(nth), nth % 2 == 0
                                                                 ? R"({"tags": {"add": ["even"]}})"
                                                                 : R"({"named_user": "crowd"})");
    }
    const auto outcomes = push.change_devices(changes).get();
    CHECK(outcomes.size() == 2500 && outcomes[0].registered());
    std::size_t refused = 0;
    for (std::size_t nth = 0; nth < outcomes.size(); nth++) {
        CHECK(nth % 2 == 1 || !outcomes[nth].has_refused());
        refused += outcomes[nth].has_refused() ? 1 : 0;
    }
    CHECK(refused > 0 && refused <= 1050);
    CHECK(!push.change_device(stadium::DeviceChange("phone-1", R"({"language": "de"})")).get());
    THROWS(stadium::Rejected, push.change_device(changes[2499]).get());
    const stadium::DeviceChange wrong("phone-1", R"({"platfrom": "ios"})");
    CHECK(THROWS(stadium::Rejected, push.change_device(wrong).get()).code() == "NODE-010");
    CHECK(push.preview(R"({"tag": "even"})", 3).get().matched() == 1250);
    CHECK(THROWS(stadium::Rejected, push.preview(R"({"tog": "even"})").get()).code() == "NODE-010");

    const NewPush news = NewPush::to_selector(R"({"tag": "even"})").title("Doors open").expiry(1h);
    push.check(news).get();
    CHECK(!push.send(news).get().duplicate && push.send(news).get().duplicate);
    eventually(
        [&] { return push.find(news.id()).get().stage() == stadium::v1::PUSH_STAGE_SENDING; },
        "the push has started");
    namespace v1 = stadium::v1;
    eventually(
        [&] { return push.trace(news.id(), "phone-2").get().state() == v1::DELIVERY_STATE_OWED; },
        "a device is owed it");
    CHECK(push.trace(news.id(), "phone-3").get().state() == v1::DELIVERY_STATE_NOT_MATCHED);
    CHECK(push.find_device("phone-2").get().inbox_size() == 1);
    push.opened(news.id(), "phone-2").get();
    CHECK(push.trace(news.id(), "phone-2").get().state() == v1::DELIVERY_STATE_OPENED);
    push.cancel(news.id()).get();
    eventually(
        [&] {
            return push.trace(news.id(), "phone-4").get().state() == v1::DELIVERY_STATE_CANCELLED;
        },
        "the push is cancelled");

    const auto later = std::chrono::system_clock::now() + 1h;
    NewPush planned = NewPush::to_device("phone-1").body("Soon").at(later).priority(9);
    push.send(planned).get();
    push.edit(planned.body("Later")).get();
    CHECK(push.find(planned.id()).get().push().notification().words().body() == "Later");
    const auto page = push.list(1).get();
    CHECK(page.pushes_size() == 1 && page.pushes(0).push().id() == planned.id().bytes());
    CHECK(push.list(5, &page.pushes(0)).get().pushes_size() == 1);

    push.schedule("daily", NewPush::to_all().title("Good morning"), "0 8 * * *").get();
    push.pause("daily").get();
    CHECK(push.schedules().get().schedules(0).paused());
    push.resume("daily").get();
    push.unschedule("daily").get();
    CHECK(push.schedules().get().schedules_size() == 0);

    push.admit("phone-1", stadium::bytes_of_hash(stadium::sha256({"secret"}))).get();
    push.revoke("phone-1").get();
    push.readmit("phone-1").get();
    push.remove_credential("phone-1").get();
    std::vector<std::string> devices;
    for (const auto& change : changes) {
        devices.push_back(change.device());
    }
    CHECK(push.remove_devices(devices).get() == 2500 - refused);
    CHECK(push.remove_devices({}).get() == 0);
}

static void jobs_are_put_and_looked_at(const stadium::Api& api) {
    const Queue queue(api, "mail");
    const auto tomorrow = std::chrono::system_clock::now() + 24h;
    const auto placed = queue
                            .put({NewJob("low").priority(1), NewJob("high").priority(9),
                                  NewJob("delayed").delay(1h).time_to_live(2h),
                                  NewJob("planned").run_at(tomorrow).key("ada").attempts_max(2)})
                            .get();
    CHECK(placed.size() == 4);
    const NewJob once = NewJob("once").dedup_id("order-17").dedup_window(1h);
    const auto first = queue.put(once).get();
    const auto second = queue.put(once).get();
    CHECK(!first.duplicate && second.duplicate && first.id == second.id);
    CHECK(queue.peek(10, stadium::v1::JOB_STATE_DELAYED).get().jobs_size() == 2);

    const auto jobs = queue.reserve(10, 1s, 30s, "tester").get();
    CHECK(jobs.size() == 3 && jobs[0].payload() == "high" && jobs[2].payload() == "low");
    std::vector<stadium::Lease> leases;
    for (const auto& job : jobs) {
        leases.emplace_back(job);
    }
    CHECK(queue.extend(leases, 60s).get().size() == 3);
    CHECK(queue.settle(leases[0]).get() == stadium::v1::Outcome::DONE);
    CHECK(queue.settle(leases[0]).get() == stadium::v1::Outcome::ALREADY);
    CHECK(queue.bury(leases[1], "look at it").get() == stadium::v1::Outcome::DONE);
    CHECK(queue.kick(10).get() == 1);
    CHECK(queue.release(leases[2], stadium::Due::not_tried(1h)).get() ==
          stadium::v1::Outcome::DONE);
    CHECK(THROWS(stadium::Rejected, queue.settle(leases[2]).get()).code() == "QUE-022");
    const auto found = queue.find(jobs[2].job()).get();
    CHECK(found.state() == stadium::v1::JOB_STATE_DELAYED && found.attempts() == 0);
    CHECK(queue.history(jobs[0].job()).get().entries_size() >= 3);
    CHECK(queue.reserve(1, 50ms).get().size() == 1 && queue.reserve(1, 20ms).get().empty());

    queue.schedule("nightly", NewJob("clean"), "0 3 * * *", "Europe/Berlin").get();
    CHECK(queue.schedules().get().schedules_size() == 1);
    queue.unschedule("nightly").get();
    queue.pause().get();
    CHECK(queue.stats().get().paused());
    queue.resume().get();
    CHECK(queue.remove(placed[3].id).get() == stadium::v1::Outcome::DONE);
    CHECK(queue.purge(stadium::v1::JOB_STATE_DELAYED).get() == 2);
    CHECK(stadium::list_queues(api).get().queues_size() >= 1);
    THROWS(stadium::Rejected, queue.drop().get());
    CHECK(THROWS(stadium::Rejected, Queue(api, "no/name").put("x").get()).code() == "NODE-010");
    THROWS(stadium::InvalidArgument, NewJob("x").delay(-1ms));
}

static void keys_are_read_again_and_never_shown(const StadiumServer& server) {
    const auto options = server.client_options();
    const StadiumServer::Key first = server.make_key("worker", "first");
    const std::string path = server.folder() + "/key";
    const auto replace = [&](const std::string& key) {
        std::ofstream(path + ".new") << key << '\n';
        std::filesystem::rename(path + ".new", path);
    };
    replace(first.secret);
    const Queue queue(stadium::Api(options, stadium::ApiKey::file(path)), "keys");
    queue.put("by the first").get();
    server.revoke_key(first);
    // The server believes a key for a quarter of a second. Then each call is refused, at once.
    int believed = 0;
    eventually(
        [&] {
            try {
                queue.put("not yet").get();
                believed++;
                return false;
            } catch (const stadium::Rejected&) {
                return true;
            }
        },
        "the key is refused");
    std::vector<stadium::Reply<stadium::PlacedJob>> puts;
    for (int nth = 0; nth < 100; nth++) {
        puts.push_back(queue.put("by nobody"));
    }
    for (auto& put : puts) {
        const auto rejected = THROWS(stadium::Rejected, put.get());
        CHECK(rejected.code() == "NODE-009");
        CHECK(std::string(rejected.what()).find(first.secret) == std::string::npos);
    }
    replace(server.make_key("worker", "second").secret);
    queue.put("by the second").get();
    const auto put = static_cast<std::uint64_t>(2 + believed);
    CHECK(queue.stats().get().put() == put);
    // A key without the right.
    const std::string viewer = server.make_key("viewer", "viewer").secret;
    const Queue seen(stadium::Api(options, stadium::ApiKey::from([&] { return viewer; })), "keys");
    CHECK(seen.stats().get().put() == put);
    THROWS(stadium::Rejected, seen.put("by a viewer").get());

    setenv("STADIUM_TEST_KEY", viewer.c_str(), 1);
    CHECK(stadium::ApiKey::environment("STADIUM_TEST_KEY").read() == viewer);
    THROWS(stadium::InvalidArgument,
           static_cast<void>(stadium::ApiKey::environment("STADIUM_NO_KEY")));
    THROWS(stadium::InvalidArgument, static_cast<void>(stadium::ApiKey::file("/nowhere").read()));
    const auto shown =
        THROWS(stadium::InvalidArgument, static_cast<void>(stadium::ApiKey::text("sk_\nsecret")));
    CHECK(std::string(shown.what()).find("secret") == std::string::npos);
    stadium::ClientOptions with_bearer = options;
    with_bearer.bearer = viewer;
    THROWS(stadium::InvalidArgument, stadium::Api(with_bearer, stadium::ApiKey::text(viewer)));
}

static stadium::Task<int> coroutine(stadium::Api api) {
    const Queue queue(api, "awaited");
    const Wallet wallet(api);
    const stadium::Push push(api);
    auto first = queue.put("one");
    auto second = queue.put("two");
    co_await first;
    co_await second;
    const auto jobs = co_await queue.reserve(10, 1s);
    co_await wallet.declare("GOLD", 0);
    co_await push.change_device(stadium::DeviceChange("awaited"));
    int refused = 0;
    try {
        co_await wallet.transfer(Transfer::post(Amount(1, "GOLD")).from("poor").to("@shop"));
    } catch (const stadium::Rejected&) {
        refused = 1;
    }
    co_return static_cast<int>(jobs.size()) + refused;
}

static void a_server_that_is_away_is_an_error_in_time() {
    const stadium::Api api({.instances = {"127.0.0.1:1"}, .deadline = 2s},
                           stadium::ApiKey::text("sk_none"));
    const auto began = std::chrono::steady_clock::now();
    THROWS(stadium::Unavailable, Queue(api, "away").put("x").get());
    CHECK(std::chrono::steady_clock::now() - began < 5s);
}

int main() {
    const StadiumServer server({"wallet.seal_after_s=1"});
    const stadium::Api api = server.api();
    votes_are_never_overdrawn(api);
    const Kinds kinds = transfers_of_each_kind_are_booked_once(api);
    pushes_are_sent_and_traced(api);
    jobs_are_put_and_looked_at(api);
    keys_are_read_again_and_never_shown(server);
    CHECK(stadium::sync_wait(coroutine(api)) == 3);
    a_server_that_is_away_is_an_error_in_time();
    receipts_prove_transfers(server, kinds);
    google::protobuf::ShutdownProtobufLibrary();
    std::puts("api: all held");
}
