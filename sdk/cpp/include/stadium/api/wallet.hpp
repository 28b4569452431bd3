// Wallet: accounts, transfers, holds and balances, by the service `wallet`.
//
// docs/wallet.md describes the guarantees. Every request may be sent again. Receipts are checked by
// receipt.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stadium/api/api.hpp>
#include <stadium/api/transfer.hpp>
#include <stadium/api/wallet_methods.hpp>

namespace stadium {

/// A transfer that is in the books.
struct Booked {
    Uuid id;
    /// By the server's clock.
    std::chrono::system_clock::time_point at;
    /// It had been booked before: nothing happened now.
    bool duplicate;
};

/// How a list of transfers is booked.
enum class Booking {
    /// Each by itself, in order.
    each,
    /// All or none.
    linked,
};

/// An account that is to be opened, such as `NewAccount("alice", "EUR").ceiling(100'000)`.
class NewAccount {
  public:
    NewAccount(std::string wallet, std::string asset) {
        message_.set_wallet(std::move(wallet));
        message_.set_asset(std::move(asset));
    }
    /// It may be overdrawn, without limit. Default no.
    NewAccount& overdraft() {
        message_.set_overdraft(true);
        return *this;
    }
    /// The most that it may hold, in minor units. Default no bound.
    NewAccount& ceiling(std::uint64_t minor_units) {
        message_.set_ceiling(minor_units);
        return *this;
    }
    [[nodiscard]] const v1::NewAccount& message() const noexcept { return message_; }

  private:
    v1::NewAccount message_;
};

/// The wallets of a server. Cheap to copy; any thread may use it.
class Wallet {
  public:
    explicit Wallet(Api api) : api_(std::move(api)) {}

    /// Declares an asset with so many digits behind the point, 0 to 18. The same again is fine.
    Reply<void> declare(std::string asset, std::uint32_t scale) const {
        v1::DeclareAssetRequest request;
        request.set_asset(std::move(asset));
        request.set_scale(scale);
        return api_.done(wallet_methods::declare, request);
    }
    /// Opens an account. True where it is new. The same again is fine; other rules are Rejected.
    Reply<bool> open(const NewAccount& account) const {
        v1::OpenRequest request;
        *request.add_accounts() = account.message();
        return api_.reply<bool>(wallet_methods::open, request, [](const v1::Opened& opened) {
            const v1::OpenOutcome& outcome = detail::only(opened.outcomes());
            if (outcome.has_refused()) {
                detail::throw_refused(outcome.refused());
            }
            return !outcome.already();
        });
    }
    /// Opens 1 to 1,000 accounts, each with its outcome, in order.
    Reply<std::vector<v1::OpenOutcome>> open(const std::vector<NewAccount>& accounts) const {
        v1::OpenRequest request;
        for (const NewAccount& account : accounts) {
            *request.add_accounts() = account.message();
        }
        return api_.reply<std::vector<v1::OpenOutcome>>(
            wallet_methods::open, request,
            [](v1::Opened opened) { return items<v1::OpenOutcome>(*opened.mutable_outcomes()); });
    }
    /// Changes an account's rules, closes it, or opens it again.
    Reply<void> change(const v1::ChangeRequest& request) const {
        return api_.done(wallet_methods::change, request);
    }

    /// Books a transfer of any kind. It is on disk when the reply is there. Throws where it was
    /// refused: Rejected WAL-023 where the wallet has not enough. Send it again after an error that
    /// `may_have_happened()`.
    Reply<Booked> transfer(const Transfer& transfer) const {
        v1::TransferRequest request;
        *request.add_transfers() = transfer.message();
        return api_.reply<Booked>(
            wallet_methods::transfer, request,
            [id = transfer.id()](const v1::TransferOutcomes& outcomes) {
                const v1::TransferOutcome& outcome = detail::only(outcomes.outcomes());
                if (outcome.has_refused()) {
                    detail::throw_refused(outcome.refused());
                }
                return Booked{id, time_of(outcome.booked_at_ms()), outcome.duplicate()};
            });
    }
    /// Books 1 to 1,000 transfers, each with its outcome, in order. A linked list that is refused
    /// is thrown.
    Reply<std::vector<v1::TransferOutcome>> transfer(const std::vector<Transfer>& transfers,
                                                     Booking booking = Booking::each) const {
        v1::TransferRequest request;
        request.set_linked(booking == Booking::linked);
        for (const Transfer& transfer : transfers) {
            *request.add_transfers() = transfer.message();
        }
        return api_.reply<std::vector<v1::TransferOutcome>>(
            wallet_methods::transfer, request, [](v1::TransferOutcomes outcomes) {
                return items<v1::TransferOutcome>(*outcomes.mutable_outcomes());
            });
    }
    /// Brings an amount into the books: from a system wallet, whose name begins with `@`. Make the
    /// id from the payment's own, so that a payment is booked once.
    Reply<Booked> deposit(const Amount& amount, std::string to, const Uuid& id,
                          std::string from = "@bank") const {
        if (from.empty() || from.front() != '@') {
            throw InvalidArgument("a deposit comes from a system wallet, such as @bank");
        }
        return transfer(Transfer::post(amount).from(std::move(from)).to(std::move(to)).id(id));
    }
    /// Keeps an amount of a wallet for another one. The hold's id is the reply's.
    Reply<Booked> hold(const Amount& amount, std::chrono::milliseconds expires_after,
                       std::string from, std::string to, const Uuid& id = Uuid::random()) const {
        return transfer(
            Transfer::hold(amount, expires_after).from(std::move(from)).to(std::move(to)).id(id));
    }
    /// Moves all that a hold keeps, or so much of it.
    Reply<Booked> capture(const Uuid& hold, std::optional<std::uint64_t> minor_units = {},
                          const Uuid& id = Uuid::random()) const {
        return transfer(
            (minor_units ? Transfer::capture(hold, *minor_units) : Transfer::capture(hold)).id(id));
    }
    /// Makes the amount of a hold available again.
    Reply<Booked> void_hold(const Uuid& hold, const Uuid& id = Uuid::random()) const {
        return transfer(Transfer::void_hold(hold).id(id));
    }
    /// Moves all of a transfer back.
    Reply<Booked> reverse(const Uuid& booked, const Uuid& id = Uuid::random()) const {
        return transfer(Transfer::reverse(booked).id(id));
    }
    /// Transfers, jobs and pushes, each unit in one record.
    Reply<v1::TogetherOutcomes> together(const v1::TogetherRequest& request) const {
        return api_.reply(wallet_methods::together, request);
    }

    /// The balance of an account. Throws Rejected WAL-021 where there is no such account.
    Reply<v1::Balance> balance(const std::string& wallet, const std::string& asset) const {
        v1::WalletsNamed request;
        request.add_wallets(wallet);
        return api_.reply<v1::Balance>(
            wallet_methods::wallet, request, [wallet, asset](const v1::AccountList& list) {
                for (const v1::AccountView& account : list.accounts()) {
                    if (account.asset() == asset) {
                        return account.balance();
                    }
                }
                throw Rejected(unknown_account, "wallet " + wallet + " has no account of " + asset);
            });
    }
    /// The accounts of 1 to 1,000 wallets.
    Reply<v1::AccountList> balances(const std::vector<std::string>& wallets) const {
        v1::WalletsNamed request;
        request.mutable_wallets()->Add(wallets.begin(), wallets.end());
        return api_.reply(wallet_methods::wallet, request);
    }
    /// The balance of an account at a time. Only `posted` is known of the past.
    Reply<v1::Balance> balance_at(std::string wallet, std::string asset,
                                  std::chrono::system_clock::time_point time) const {
        v1::BalanceAtRequest request;
        request.set_wallet(std::move(wallet));
        request.set_asset(std::move(asset));
        request.set_at_ms(milliseconds_of(time));
        return api_.reply(wallet_methods::balance_at, request);
    }
    /// Accounts by name, a page at a time.
    Reply<v1::AccountList> accounts(const v1::AccountsRequest& request) const {
        return api_.reply(wallet_methods::accounts, request);
    }
    /// Open holds of a wallet, oldest first, 1 to 1,000.
    Reply<v1::HoldList> holds(std::string wallet, std::uint32_t holds_max = 100) const {
        v1::HoldsRequest request;
        request.set_wallet(std::move(wallet));
        request.set_holds_max(holds_max);
        return api_.reply(wallet_methods::holds, request);
    }
    /// One transfer, as long as its id is remembered.
    Reply<v1::TransferView> find(const Uuid& transfer) const {
        v1::TransferNamed request;
        request.set_transfer(transfer.bytes());
        return api_.reply(wallet_methods::find, request);
    }
    /// The newest entries of an account, 1 to 1,000. `before` is that of the page before.
    Reply<v1::EntryPage> history(std::string wallet, std::string asset,
                                 std::uint32_t entries_max = 100,
                                 std::optional<std::uint64_t> before = {}) const {
        v1::EntriesRequest request;
        request.set_wallet(std::move(wallet));
        request.set_asset(std::move(asset));
        request.set_entries_max(entries_max);
        if (before) {
            request.set_before(*before);
        }
        return history(request);
    }
    /// The same with filters.
    Reply<v1::EntryPage> history(const v1::EntriesRequest& request) const {
        return api_.reply(wallet_methods::history, request);
    }
    /// All entries that the request asks for, newest first, as a stream.
    [[nodiscard]] Stream<v1::Entry> statement(const v1::EntriesRequest& request,
                                              const CallOptions& options = {}) const {
        return api_.open(wallet_methods::statement, request, options);
    }
    /// All assets with their totals.
    Reply<v1::AssetList> assets() const {
        return api_.reply(wallet_methods::assets, v1::AssetsRequest());
    }
    /// The roots that the seals have published, oldest first: of each shard 1 to 1,000, numbered
    /// above `after`. Keep them where nobody can change them; receipts are checked by them.
    Reply<v1::RootList> roots(std::uint64_t after = 0, std::optional<std::uint32_t> shard = {},
                              std::uint32_t roots_max = 1000) const {
        v1::RootsRequest request;
        request.set_after(after);
        request.set_roots_max(roots_max);
        if (shard) {
            request.set_shard(*shard);
        }
        return api_.reply(wallet_methods::roots, request);
    }

  private:
    static constexpr const char* unknown_account = "WAL-021";

    template <class Item, class Items>
    static std::vector<Item> items(Items& from) {
        return {std::make_move_iterator(from.begin()), std::make_move_iterator(from.end())};
    }

    Api api_;
};

}  // namespace stadium
