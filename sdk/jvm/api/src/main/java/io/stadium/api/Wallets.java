// Made of AsyncWallets.java by BlockingForms: change that file.
package io.stadium.api;

import io.stadium.rpc.client.RpcStream;
import io.stadium.v1.AccountView;
import io.stadium.v1.AccountsRequest;
import io.stadium.v1.AssetView;
import io.stadium.v1.ChangeRequest;
import io.stadium.v1.EntriesRequest;
import io.stadium.v1.Entry;
import io.stadium.v1.EntryPage;
import io.stadium.v1.OpenHold;
import io.stadium.v1.Root;
import io.stadium.v1.RootsRequest;
import io.stadium.v1.TransferView;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The wallets of a server. docs/wallet.md describes the guarantees. Every request may be sent
 * again. {@link Receipt} checks receipts.
 *
 * <p>The methods wait for their answer, and throw an
 * {@link io.stadium.rpc.RpcException} where there is none. {@link #async} has the same
 * ones with futures.
 */
public final class Wallets {
    private final AsyncWallets async;

    Wallets(AsyncWallets async) {
        this.async = async;
    }

    /**
     * The same with futures.
     *
     * @return the methods that do not wait
     */
    public AsyncWallets async() {
        return async;
    }

    /**
     * Declares an asset. The same again is no error. Takes an admin's key.
     *
     * @param asset upper-case letters, digits and {@code _}, at most 16 bytes
     * @param scale digits behind the point, 0 to 18: 2 for EUR
     */
    public void declare(String asset, int scale) {
        waited(async.declare(asset, scale));
    }

    /**
     * Opens an account. The same again is no error; other rules are rejected. Takes an admin's key.
     *
     * @param account the account
     * @return whether it is new
     */
    public boolean open(NewAccount account) {
        return waited(async.open(account));
    }

    /**
     * Opens accounts. Takes an admin's key.
     *
     * @param accounts 1 to 1,000
     * @return for each, in their order, whether it is new
     */
    public List<Outcome<Boolean>> openAll(List<NewAccount> accounts) {
        return waited(async.openAll(accounts));
    }

    /**
     * Changes an account's rules, closes it, or opens it again. Takes an admin's key.
     *
     * @param request the account, and the fields that become different
     */
    public void change(ChangeRequest request) {
        waited(async.change(request));
    }

    /**
     * Books a transfer of any kind. It is on disk then.
     *
     * @param transfer the transfer. Send the same one again after an error that says that it may
     *     have happened
     * @return the booking. It is rejected with {@code WAL-023} where the wallet has not enough
     */
    public Booked transfer(Transfer transfer) {
        return waited(async.transfer(transfer));
    }

    /**
     * Books transfers.
     *
     * @param transfers 1 to 1,000
     * @param booking each by itself, or all or none: then a refusal is rejected with
     *     {@code WAL-032}
     * @return an outcome for each, in their order
     */
    public List<Outcome<Booked>> transferAll(
            List<Transfer> transfers, Booking booking) {
        return waited(async.transferAll(transfers, booking));
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
    public Booked deposit(Amount amount, String from, String to, UUID id) {
        return waited(async.deposit(amount, from, to, id));
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
    public Booked hold(
            Amount amount, String from, String to, Duration expiresAfter) {
        return waited(async.hold(amount, from, to, expiresAfter));
    }

    /**
     * Moves all that a hold keeps.
     *
     * @param hold the hold's id
     * @return the booking
     */
    public Booked capture(UUID hold) {
        return waited(async.capture(hold));
    }

    /**
     * Moves a part of the amount that a hold keeps. The rest is available again.
     *
     * @param hold the hold's id
     * @param minorUnits at least 1
     * @return the booking
     */
    public Booked capture(UUID hold, long minorUnits) {
        return waited(async.capture(hold, minorUnits));
    }

    /**
     * Makes the amount of a hold available again.
     *
     * @param hold the hold's id
     * @return the booking
     */
    public Booked voidHold(UUID hold) {
        return waited(async.voidHold(hold));
    }

    /**
     * Moves all of a posted or captured transfer back, at most once.
     *
     * @param transfer its id
     * @return the booking
     */
    public Booked reverse(UUID transfer) {
        return waited(async.reverse(transfer));
    }

    /**
     * Books transfers, puts jobs and pushes to devices: all of the unit, or nothing.
     *
     * @param unit the unit
     * @return the bookings and the jobs
     */
    public BookedUnit together(Unit unit) {
        return waited(async.together(unit));
    }

    /**
     * Books units, each whole or not at all.
     *
     * @param units 1 to 1,000, with as many transfers in all of them
     * @return an outcome for each, in their order
     */
    public List<Outcome<BookedUnit>> togetherAll(List<Unit> units) {
        return waited(async.togetherAll(units));
    }

    /**
     * The balance of an account.
     *
     * @param wallet the wallet
     * @param asset the asset
     * @return the balance; zero where there is no such account
     */
    public Balance balance(String wallet, String asset) {
        return waited(async.balance(wallet, asset));
    }

    /**
     * The balances of a wallet.
     *
     * @param wallet the wallet
     * @return by asset
     */
    public Map<String, Balance> balances(String wallet) {
        return waited(async.balances(wallet));
    }

    /**
     * The balance of an account at a moment.
     *
     * @param wallet the wallet
     * @param asset the asset
     * @param moment not before 1970
     * @return the balance; {@code held} is not known of the past
     */
    public Balance balanceAt(String wallet, String asset, Instant moment) {
        return waited(async.balanceAt(wallet, asset, moment));
    }

    /**
     * The accounts of wallets.
     *
     * @param wallets 1 to 1,000
     * @return one wallet after the other
     */
    public List<AccountView> accountsOf(List<String> wallets) {
        return waited(async.accountsOf(wallets));
    }

    /**
     * Accounts by name, a page at a time.
     *
     * @param request the beginning of the wallets' names, the asset, the last account of the page
     *     before
     * @return the accounts
     */
    public List<AccountView> accounts(AccountsRequest request) {
        return waited(async.accounts(request));
    }

    /**
     * Open holds of a wallet, oldest first.
     *
     * @param wallet the wallet
     * @param holdsMax 1 to 1,000
     * @return the holds
     */
    public List<OpenHold> holds(String wallet, int holdsMax) {
        return waited(async.holds(wallet, holdsMax));
    }

    /**
     * One transfer, as long as its id is remembered.
     *
     * @param transfer its id
     * @return the transfer and its state
     */
    public TransferView find(UUID transfer) {
        return waited(async.find(transfer));
    }

    /**
     * The newest entries of an account.
     *
     * @param wallet the wallet
     * @param asset the asset
     * @return 100 at most, and where the next page begins
     */
    public EntryPage history(String wallet, String asset) {
        return waited(async.history(wallet, asset));
    }

    /**
     * Entries of an account, newest first, a page at a time.
     *
     * @param request the account, filters, and {@code before} of the page before
     * @return the entries, and where the next page begins
     */
    public EntryPage history(EntriesRequest request) {
        return waited(async.history(request));
    }

    /**
     * All entries of an account that a request asks for, newest first.
     *
     * @param request the account and filters
     * @return the entries, which their reader closes
     */
    public RpcStream<Entry> statement(EntriesRequest request) {
        return async.statementStream(request);
    }

    /**
     * All assets with their totals.
     *
     * @return the assets
     */
    public List<AssetView> assets() {
        return waited(async.assets());
    }

    /**
     * Roots that the seals of all shards have published. Keep them where nobody
     * can change them: receipts are checked by them.
     *
     * @param after seals numbered above this one
     * @return at most 1,000 of each shard, oldest first
     */
    public List<Root> roots(long after) {
        return waited(async.roots(after));
    }

    /**
     * Roots that the seals have published.
     *
     * @param request the shard, and the seal after which to begin
     * @return oldest first
     */
    public List<Root> roots(RootsRequest request) {
        return waited(async.roots(request));
    }

    private <T> T waited(CompletableFuture<T> answer) {
        return async.calls().client().await(answer);
    }
}
