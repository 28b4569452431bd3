package io.stadium.api;

import io.stadium.rpc.client.CallOptions;
import io.stadium.rpc.client.RpcStream;
import io.stadium.v1.AccountList;
import io.stadium.v1.AccountView;
import io.stadium.v1.AccountsRequest;
import io.stadium.v1.AssetList;
import io.stadium.v1.AssetView;
import io.stadium.v1.AssetsRequest;
import io.stadium.v1.BalanceAtRequest;
import io.stadium.v1.ChangeRequest;
import io.stadium.v1.DeclareAssetRequest;
import io.stadium.v1.EntriesRequest;
import io.stadium.v1.Entry;
import io.stadium.v1.EntryPage;
import io.stadium.v1.HoldList;
import io.stadium.v1.HoldsRequest;
import io.stadium.v1.OpenHold;
import io.stadium.v1.OpenOutcome;
import io.stadium.v1.OpenRequest;
import io.stadium.v1.Root;
import io.stadium.v1.RootList;
import io.stadium.v1.RootsRequest;
import io.stadium.v1.TogetherRequest;
import io.stadium.v1.TransferNamed;
import io.stadium.v1.TransferRequest;
import io.stadium.v1.TransferView;
import io.stadium.v1.WalletMethods;
import io.stadium.v1.WalletsNamed;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;

/**
 * The wallets of a server. docs/wallet.md describes the guarantees. Every request may be sent
 * again. {@link Receipt} checks receipts.
 */
public final class AsyncWallets {
    private final Calls calls;

    AsyncWallets(Calls calls) {
        this.calls = calls;
    }

    Calls calls() {
        return calls;
    }

    /**
     * Declares an asset. The same again is no error. Takes an admin's key.
     *
     * @param asset upper-case letters, digits and {@code _}, at most 16 bytes
     * @param scale digits behind the point, 0 to 18: 2 for EUR
     * @return when it is done
     */
    public CompletableFuture<Void> declare(String asset, int scale) {
        Bounds.check("scale", scale, 0, 18);
        return calls.run(WalletMethods.DECLARE,
                DeclareAssetRequest.newBuilder().setAsset(asset).setScale(scale).build());
    }

    /**
     * Opens an account. The same again is no error; other rules are rejected. Takes an admin's key.
     *
     * @param account the account
     * @return whether it is new
     */
    public CompletableFuture<Boolean> open(NewAccount account) {
        OpenRequest request = OpenRequest.newBuilder().addAccounts(account.message()).build();
        return calls.call(WalletMethods.OPEN, request,
                answer -> opened(Outcome.only(answer.getOutcomesList())).get());
    }

    /**
     * Opens accounts. Takes an admin's key.
     *
     * @param accounts 1 to 1,000
     * @return for each, in their order, whether it is new
     */
    public CompletableFuture<List<Outcome<Boolean>>> openAll(List<NewAccount> accounts) {
        OpenRequest.Builder request = OpenRequest.newBuilder();
        List<NewAccount> asked = Bounds.items("accounts", accounts);
        asked.forEach(account -> request.addAccounts(account.message()));
        return calls.call(WalletMethods.OPEN, request.build(), answer -> Outcome.each(
                asked, answer.getOutcomesList(), (account, outcome) -> opened(outcome)));
    }

    private static Outcome<Boolean> opened(OpenOutcome outcome) {
        return outcome.hasRefused() ? Outcome.failed(Booked.refusal(outcome.getRefused()))
                : Outcome.of(!outcome.getAlready());
    }

    /**
     * Changes an account's rules, closes it, or opens it again. Takes an admin's key.
     *
     * @param request the account, and the fields that become different
     * @return when it is done
     */
    public CompletableFuture<Void> change(ChangeRequest request) {
        return calls.run(WalletMethods.CHANGE, request);
    }

    /**
     * Books a transfer of any kind. It is on disk then.
     *
     * @param transfer the transfer. Send the same one again after an error that says that it may
     *     have happened
     * @return the booking. It is rejected with {@code WAL-023} where the wallet has not enough
     */
    public CompletableFuture<Booked> transfer(Transfer transfer) {
        TransferRequest request =
                TransferRequest.newBuilder().addTransfers(transfer.message()).build();
        return calls.call(WalletMethods.TRANSFER, request, answer -> Booked.of(
                request.getTransfers(0), Outcome.only(answer.getOutcomesList())).get());
    }

    /**
     * Books transfers.
     *
     * @param transfers 1 to 1,000
     * @param booking each by itself, or all or none: then a refusal is rejected with
     *     {@code WAL-032}
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<Booked>>> transferAll(
            List<Transfer> transfers, Booking booking) {
        TransferRequest.Builder builder =
                TransferRequest.newBuilder().setLinked(booking == Booking.LINKED);
        Bounds.items("transfers", transfers)
                .forEach(transfer -> builder.addTransfers(transfer.message()));
        TransferRequest request = builder.build();
        return calls.call(WalletMethods.TRANSFER, request, answer -> Outcome.each(
                request.getTransfersList(), answer.getOutcomesList(), Booked::of));
    }

    /**
     * Brings an amount into the books, from a system wallet.
     *
     * @param amount the amount
     * @param from a system wallet, such as {@code @bank}: its name begins with {@code @}
     * @param to the wallet that gets it
     * @param id made of the payment's own, so that a payment is booked once: {@link Ids#of}
     * @return the booking
     */
    public CompletableFuture<Booked> deposit(Amount amount, String from, String to, UUID id) {
        if (!from.startsWith("@")) {
            throw new IllegalArgumentException(
                    "a deposit comes from a system wallet, such as @bank, not from " + from);
        }
        return transfer(Transfer.post(amount).from(from).to(to).id(id));
    }

    /**
     * Keeps an amount of a wallet for another one.
     *
     * @param amount the amount
     * @param from the wallet that keeps it
     * @param to the wallet that gets it when it is captured
     * @param expiresAfter the hold ends by itself then: 1 s to 366 days
     * @return the booking; its id is the hold's
     */
    public CompletableFuture<Booked> hold(
            Amount amount, String from, String to, Duration expiresAfter) {
        return transfer(Transfer.hold(amount, expiresAfter).from(from).to(to));
    }

    /**
     * Moves all that a hold keeps.
     *
     * @param hold the hold's id
     * @return the booking
     */
    public CompletableFuture<Booked> capture(UUID hold) {
        return transfer(Transfer.capture(hold));
    }

    /**
     * Moves a part of the amount that a hold keeps. The rest is available again.
     *
     * @param hold the hold's id
     * @param minorUnits at least 1
     * @return the booking
     */
    public CompletableFuture<Booked> capture(UUID hold, long minorUnits) {
        return transfer(Transfer.capture(hold, minorUnits));
    }

    /**
     * Makes the amount of a hold available again.
     *
     * @param hold the hold's id
     * @return the booking
     */
    public CompletableFuture<Booked> voidHold(UUID hold) {
        return transfer(Transfer.voidHold(hold));
    }

    /**
     * Moves all of a posted or captured transfer back, at most once.
     *
     * @param transfer its id
     * @return the booking
     */
    public CompletableFuture<Booked> reverse(UUID transfer) {
        return transfer(Transfer.reverse(transfer));
    }

    /**
     * Books transfers, puts jobs and pushes to devices: all of the unit, or nothing.
     *
     * @param unit the unit
     * @return the bookings and the jobs
     */
    public CompletableFuture<BookedUnit> together(Unit unit) {
        TogetherRequest request = TogetherRequest.newBuilder().addUnits(unit.message()).build();
        return calls.call(WalletMethods.TOGETHER, request,
                answer -> unit.outcome(Outcome.only(answer.getOutcomesList())).get());
    }

    /**
     * Books units, each whole or not at all.
     *
     * @param units 1 to 1,000, with as many transfers in all of them
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<BookedUnit>>> togetherAll(List<Unit> units) {
        TogetherRequest.Builder request = TogetherRequest.newBuilder();
        List<Unit> asked = Bounds.items("units", units);
        asked.forEach(unit -> request.addUnits(unit.message()));
        return calls.call(WalletMethods.TOGETHER, request.build(), answer -> Outcome.each(
                asked, answer.getOutcomesList(), Unit::outcome));
    }

    /**
     * The balance of an account.
     *
     * @param wallet the wallet
     * @param asset the asset
     * @return the balance; zero where there is no such account
     */
    public CompletableFuture<Balance> balance(String wallet, String asset) {
        return calls.call(WalletMethods.WALLET, named(List.of(wallet)),
                answer -> byAsset(answer).getOrDefault(asset, Balance.ZERO));
    }

    /**
     * The balances of a wallet.
     *
     * @param wallet the wallet
     * @return by asset
     */
    public CompletableFuture<Map<String, Balance>> balances(String wallet) {
        return calls.call(WalletMethods.WALLET, named(List.of(wallet)), AsyncWallets::byAsset);
    }

    private static Map<String, Balance> byAsset(AccountList answer) {
        Map<String, Balance> balances = new LinkedHashMap<>();
        answer.getAccountsList().forEach(account ->
                balances.put(account.getAsset(), Balance.of(account.getBalance())));
        return balances;
    }

    /**
     * The balance of an account at a moment.
     *
     * @param wallet the wallet
     * @param asset the asset
     * @param moment not before 1970
     * @return the balance; {@code held} is not known of the past
     */
    public CompletableFuture<Balance> balanceAt(String wallet, String asset, Instant moment) {
        BalanceAtRequest request = BalanceAtRequest.newBuilder().setWallet(wallet).setAsset(asset)
                .setAtMs(Times.millis("moment", moment)).build();
        return calls.call(WalletMethods.BALANCE_AT, request, Balance::of);
    }

    /**
     * The accounts of wallets.
     *
     * @param wallets 1 to 1,000
     * @return one wallet after the other
     */
    public CompletableFuture<List<AccountView>> accountsOf(List<String> wallets) {
        return calls.call(WalletMethods.WALLET, named(Bounds.items("wallets", wallets)),
                AccountList::getAccountsList);
    }

    private static WalletsNamed named(List<String> wallets) {
        return WalletsNamed.newBuilder().addAllWallets(wallets).build();
    }

    /**
     * Accounts by name, a page at a time.
     *
     * @param request the beginning of the wallets' names, the asset, the last account of the page
     *     before
     * @return the accounts
     */
    public CompletableFuture<List<AccountView>> accounts(AccountsRequest request) {
        Bounds.check("accountsMax", request.getAccountsMax(), 0, Bounds.ITEMS_MAX);
        return calls.call(WalletMethods.ACCOUNTS, request, AccountList::getAccountsList);
    }

    /**
     * Open holds of a wallet, oldest first.
     *
     * @param wallet the wallet
     * @param holdsMax 1 to 1,000
     * @return the holds
     */
    public CompletableFuture<List<OpenHold>> holds(String wallet, int holdsMax) {
        Bounds.check("holdsMax", holdsMax, 1, Bounds.ITEMS_MAX);
        HoldsRequest request =
                HoldsRequest.newBuilder().setWallet(wallet).setHoldsMax(holdsMax).build();
        return calls.call(WalletMethods.HOLDS, request, HoldList::getHoldsList);
    }

    /**
     * One transfer, as long as its id is remembered.
     *
     * @param transfer its id
     * @return the transfer and its state
     */
    public CompletableFuture<TransferView> find(UUID transfer) {
        return calls.call(WalletMethods.FIND,
                TransferNamed.newBuilder().setTransfer(Ids.bytes(transfer)).build());
    }

    /**
     * The newest entries of an account.
     *
     * @param wallet the wallet
     * @param asset the asset
     * @return 100 at most, and where the next page begins
     */
    public CompletableFuture<EntryPage> history(String wallet, String asset) {
        return history(
                EntriesRequest.newBuilder().setWallet(wallet).setAsset(asset).build());
    }

    /**
     * Entries of an account, newest first, a page at a time.
     *
     * @param request the account, filters, and {@code before} of the page before
     * @return the entries, and where the next page begins
     */
    public CompletableFuture<EntryPage> history(EntriesRequest request) {
        Bounds.check("entriesMax", request.getEntriesMax(), 0, Bounds.ITEMS_MAX);
        return calls.call(WalletMethods.HISTORY, request);
    }

    /**
     * All entries of an account that a request asks for, newest first.
     *
     * @param request the account and filters
     * @return a publisher; each subscriber makes a call
     */
    public Flow.Publisher<Entry> statement(EntriesRequest request) {
        return calls.publisher(WalletMethods.STATEMENT, request, CallOptions.DEFAULT);
    }

    /** The same for a reader that waits. */
    RpcStream<Entry> statementStream(EntriesRequest request) {
        return calls.stream(WalletMethods.STATEMENT, request);
    }

    /**
     * All assets with their totals.
     *
     * @return the assets
     */
    public CompletableFuture<List<AssetView>> assets() {
        return calls.call(WalletMethods.ASSETS, AssetsRequest.getDefaultInstance(),
                AssetList::getAssetsList);
    }

    /**
     * Roots that the seals of all shards have published. Keep them where nobody
     * can change them: receipts are checked by them.
     *
     * @param after seals numbered above this one
     * @return at most 1,000 of each shard, oldest first
     */
    public CompletableFuture<List<Root>> roots(long after) {
        return roots(RootsRequest.newBuilder()
                .setAfter(after).setRootsMax(Bounds.ITEMS_MAX).build());
    }

    /**
     * Roots that the seals have published.
     *
     * @param request the shard, and the seal after which to begin
     * @return oldest first
     */
    public CompletableFuture<List<Root>> roots(RootsRequest request) {
        Bounds.check("rootsMax", request.getRootsMax(), 0, Bounds.ITEMS_MAX);
        return calls.call(WalletMethods.ROOTS, request, RootList::getRootsList);
    }
}
