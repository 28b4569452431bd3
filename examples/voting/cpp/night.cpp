// A voting night over the C++ SDK: night DATA, with the data directory of a running server.
//
// Voters buy three votes each and try to cast five, all at once. A vote is a transfer from the
// voter's wallet to the candidate's, and its id is made of what it is for. So the program may be
// started again: nothing is paid twice. The exit code is 1 where the books are not as they must be.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <stadium/api/push.hpp>
#include <stadium/api/receipt.hpp>
#include <stadium/api/wallet.hpp>

#include "server.hpp"

namespace {

using namespace std::chrono_literals;

const std::string poll = "final", asset = "VOTE", language = "cpp";
const std::vector<std::string> candidates = {"ann", "ben"};
constexpr int voters = 20;
/// Votes that each voter buys, and tries to cast.
constexpr int bought = 3, cast = 5;
/// Votes that are sent again although they were paid.
constexpr std::size_t repeated = 20;
/// The longest that anything is waited for. A receipt waits for the seal: a minute at most.
constexpr std::chrono::seconds patience = 100s;

std::string device_of(int voter) {
    return language + '-' + std::to_string(voter);
}
std::string wallet_of(int voter) {
    return "voter:" + device_of(voter);
}
std::string wallet_of(const std::string& candidate) {
    return '@' + poll + ':' + candidate;
}

/// An id that is made of what it is for.
stadium::Uuid id_from(const std::string& what, const std::string& of_what) {
    const stadium::Hash hash = stadium::sha256({what, "\n", poll, "\n", of_what});
    return stadium::Uuid::of_bytes(stadium::bytes_of_hash(hash).substr(0, 16));
}

/// The transfer that a vote is: the same vote again is the same transfer.
stadium::Transfer vote_of(int voter, int nth) {
    const std::string& candidate = candidates[(voter + nth) % 3 != 0 ? 0 : 1];
    return stadium::Transfer::post(stadium::Amount(1, asset))
        .from(wallet_of(voter))
        .to(wallet_of(candidate))
        .id(id_from("vote", device_of(voter) + '\n' + std::to_string(nth)))
        .reference(poll);
}

/// Asks again and again until something is there.
template <class Look>
auto until(const char* what, Look look) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (true) {
        if (auto found = look()) {
            return *found;
        }
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error(std::string("it takes too long: ") + what);
        }
        std::this_thread::sleep_for(50ms);
    }
}

class Night {
  public:
    explicit Night(night::Server server)
        : server_(std::move(server)), wallet_(server_.api()), push_(server_.api()) {}

    /// Opens the voters' accounts, and sells them their votes: a payment counts once.
    int sell() const {
        wallet_.declare(asset, 0).get();
        std::vector<stadium::Reply<bool>> opened;
        for (int voter = 0; voter < voters; voter++) {
            opened.push_back(wallet_.open(stadium::NewAccount(wallet_of(voter), asset)));
        }
        for (auto& account : opened) {
            account.get();
        }
        std::vector<stadium::Transfer> payments;
        for (int voter = 0; voter < voters; voter++) {
            payments.push_back(stadium::Transfer::post(stadium::Amount(bought, asset))
                                   .from("@shop")
                                   .to(wallet_of(voter))
                                   .id(id_from("payment", device_of(voter))));
        }
        const auto booked = book(payments);
        return bought * static_cast<int>(std::count_if(
                            booked.begin(), booked.end(), [](const auto& one) { return !!one; }));
    }

    /// Books transfers at once, each until its outcome is known: their ids make that safe. Nothing
    /// stands for those that a wallet has not enough for.
    std::vector<std::optional<stadium::Booked>> book(
        const std::vector<stadium::Transfer>& transfers) const {
        std::vector<stadium::Reply<stadium::Booked>> replies;
        for (const auto& transfer : transfers) {
            replies.push_back(wallet_.transfer(transfer));
        }
        std::vector<std::optional<stadium::Booked>> booked;
        for (std::size_t nth = 0; nth < transfers.size(); nth++) {
            booked.push_back(
                until("a transfer", [&] { return outcome(replies[nth], transfers[nth]); }));
        }
        return booked;
    }

    /// Checks without the server that a receipt proves the vote under a published root.
    bool proves(const stadium::Transfer& vote) const {
        const std::string receipt =
            until("the receipt", [&] { return server_.receipt(vote.id()); });
        const auto read = night::json_of(receipt);
        const auto number = [&](const char* name) { return read.fields().at(name).number_value(); };
        const auto roots = wallet_
                               .roots(static_cast<std::uint64_t>(number("seal")) - 1,
                                      static_cast<std::uint32_t>(number("shard")), 1)
                               .get();
        std::vector<stadium::Hash> published;
        for (const auto& root : roots.roots()) {
            std::copy(root.root().begin(), root.root().end(), published.emplace_back().begin());
        }
        const auto proved = stadium::check_receipt(receipt, published);
        const auto& post = vote.message().post();
        return proved.transfer == vote.id() && proved.debit == post.debit() &&
               proved.credit == post.credit() && proved.asset == asset && proved.amount == 1;
    }

    /// Votes that were bought and not cast.
    long long left() const {
        long long left = 0;
        for (int voter = 0; voter < voters; voter++) {
            left += wallet_.balance(wallet_of(voter), asset).get().available();
        }
        return left;
    }

    /// The votes of a candidate, those of other programs too.
    long long standing(const std::string& candidate) const {
        return wallet_.balance(wallet_of(candidate), asset).get().posted();
    }

    /// Pushes the winner to the voters' devices. Returns how many are told.
    int announce(const std::string& winner) const {
        const std::string tags = R"({"tags": {"add": [")" + language + R"("]}})";
        std::vector<stadium::Reply<bool>> changed;
        for (int voter = 0; voter < voters; voter++) {
            changed.push_back(push_.change_device(stadium::DeviceChange(device_of(voter), tags)));
        }
        for (auto& device : changed) {
            device.get();
        }
        const auto sent = push_.send(stadium::NewPush::to_selector(R"({"tag": ")" + language + "\"}")
                                         .title("The winner is " + winner)
                                         .expiry(1h)
                                         .id(id_from("winner", language + '\n' + winner)))
                              .get();
        return until("the push", [&]() -> std::optional<int> {
            const auto targeted = push_.find(sent.id).get().counts().targeted();
            return targeted < voters ? std::nullopt : std::optional(static_cast<int>(targeted));
        });
    }

    /// Checks that each vote that somebody has was given by somebody.
    bool is_balanced() const {
        const auto all = wallet_.assets().get();
        return std::any_of(all.assets().begin(), all.assets().end(), [](const auto& each) {
            return each.asset() == asset && each.credit() == each.debit();
        });
    }

  private:
    using Outcome = std::optional<std::optional<stadium::Booked>>;

    /// The outcome of a transfer; nothing where that is not known, and it is on its way again.
    Outcome outcome(stadium::Reply<stadium::Booked>& reply,
                    const stadium::Transfer& transfer) const {
        try {
            return reply.get();
        } catch (const stadium::Rejected& refused) {
            if (refused.code() != "WAL-023") {
                throw;
            }
            return Outcome(std::in_place, std::nullopt);
        } catch (const stadium::Busy& busy) {
            std::this_thread::sleep_for(busy.retry_after());
        } catch (const stadium::Error&) {
            // It may have happened: the same transfer again tells.
        }
        reply = wallet_.transfer(transfer);
        return std::nullopt;
    }

    night::Server server_;
    stadium::Wallet wallet_;
    stadium::Push push_;
};

void print(const std::string& name, const std::string& value) {
    std::printf("%-16s%8s\n", name.c_str(), value.c_str());
}

int run(const Night& night) {
    const int credits = night.sell();
    std::vector<stadium::Transfer> votes;
    for (int nth = 0; nth < cast; nth++) {
        for (int voter = 0; voter < voters; voter++) {
            votes.push_back(vote_of(voter, nth));
        }
    }
    const auto booked = night.book(votes);
    std::vector<stadium::Transfer> paid;
    for (std::size_t nth = 0; nth < votes.size(); nth++) {
        if (booked[nth]) {
            paid.push_back(votes[nth]);
        }
    }
    const std::vector<stadium::Transfer> again(
        paid.begin(), std::next(paid.begin(), std::min(repeated, paid.size())));
    const auto booked_again = night.book(again);
    const auto twice = std::count_if(booked_again.begin(), booked_again.end(),
                                     [](const auto& one) { return !one || !one->duplicate; });
    const bool is_proved = !paid.empty() && night.proves(paid.front());
    const long long left = night.left();
    std::map<std::string, long long> standings;
    long long total = 0;
    for (const std::string& candidate : candidates) {
        total += standings[candidate] = night.standing(candidate);
    }
    const std::string winner =
        *std::max_element(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
            return standings[a] < standings[b];
        });
    const int told = night.announce(winner);
    const bool is_balanced = night.is_balanced();

    print("voters", std::to_string(voters));
    print("votes bought", std::to_string(credits));
    print("votes cast", std::to_string(votes.size()));
    print("votes paid", std::to_string(paid.size()));
    print("votes refused", std::to_string(votes.size() - paid.size()));
    print("sent again", std::to_string(again.size()));
    print("paid twice", std::to_string(twice));
    print("votes left", std::to_string(left));
    print("receipt", is_proved ? "proved" : "wrong");
    for (const std::string& candidate : candidates) {
        print(wallet_of(candidate), std::to_string(standings[candidate]));
    }
    print("winner", winner);
    print("devices told", std::to_string(told));
    print("books", is_balanced ? "balance" : "differ");
    const bool is_paid = paid.size() == static_cast<std::size_t>(credits) && twice == 0;
    return is_paid && left == 0 && is_proved && is_balanced && total >= credits && told == voters
               ? 0
               : 1;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "night DATA: the data directory of a running `stadium serve`\n");
        return 1;
    }
    try {
        return run(Night(night::Server(arguments[1])));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "night: %s\n", error.what());
        return 1;
    }
}
