package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.Rejected;
import io.stadium.rpc.client.RpcStream;
import io.stadium.v1.AccountsRequest;
import io.stadium.v1.BookState;
import io.stadium.v1.ChangeRequest;
import io.stadium.v1.Direction;
import io.stadium.v1.EntriesRequest;
import io.stadium.v1.Entry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Wallets of the real server: never overdrawn, and each transfer at most once. */
@Timeout(120)
class WalletTest {
    private static Stadium stadium;
    private static Wallets wallets;

    @BeforeAll
    static void connect() throws Exception {
        stadium = TestServer.shared().connect();
        wallets = stadium.wallets();
        wallets.declare("EUR", 2);
        wallets.declare("VOTE", 0);
    }

    @AfterAll
    static void close() {
        if (stadium != null) {
            stadium.close();
        }
    }

    @Test
    void amountsAreMovedHeldAndFound() throws Exception {
        assertTrue(wallets.open(NewAccount.of("alice", "EUR")));
        assertFalse(wallets.open(NewAccount.of("alice", "EUR")));
        List<Outcome<Boolean>> opened = wallets.openAll(List.of(
                NewAccount.of("bob", "EUR").ceiling(500),
                NewAccount.of("alice", "EUR").ceiling(1)));
        assertTrue(opened.get(0).get());
        assertEquals("WAL-031", Soon.code(() -> opened.get(1).get()));
        wallets.deposit(eur(1_250), "@bank", "alice", UUID.randomUUID());
        Booked paid = wallets.transfer(Transfer.post(eur(250)).from("alice").to("bob")
                .reference("lunch").metadata("soup".getBytes(StandardCharsets.UTF_8)));
        Booked hold = wallets.hold(eur(300), "alice", "bob", Duration.ofMinutes(1));
        assertEquals(new Balance(1_000, 300, 700), wallets.balance("alice", "EUR"));
        assertEquals(300, Outcome.only(wallets.holds("alice", 10)).getAmount());
        wallets.capture(hold.id(), 100);
        Booked other = wallets.hold(eur(10), "alice", "bob", Duration.ofMinutes(1));
        wallets.voidHold(other.id());
        assertEquals(BookState.BOOK_STATE_VOIDED, wallets.find(other.id()).getState());
        assertTrue(Soon.code(() -> wallets.capture(hold.id())).startsWith("WAL-"));
        wallets.reverse(paid.id());
        // Of two shards the second hears of the decision later.
        Map<String, Balance> left = Map.of("EUR", new Balance(100, 0, 100));
        Soon.until("the reversal is booked", () -> left.equals(wallets.balances("bob")));
        Transfer more = Transfer.post(eur(401)).from("alice").to("bob");
        assertEquals("WAL-024", Soon.code(() -> wallets.transfer(more)));
        wallets.change(ChangeRequest.newBuilder().setWallet("bob").setAsset("EUR")
                .setNoCeiling(true).build());
        wallets.transfer(more.id(UUID.randomUUID()));
        assertEquals("WAL-023", Soon.code(() -> wallets.transfer(
                Transfer.post(eur(10_000)).from("alice").to("bob"))));
        assertEquals("lunch", wallets.find(paid.id()).getReference());

        EntriesRequest debits = EntriesRequest.newBuilder().setWallet("alice").setAsset("EUR")
                .setDirection(Direction.DIRECTION_DEBIT).build();
        List<Entry> entries = wallets.history(debits).getEntriesList();
        assertEquals(List.of(401L, 100L, 250L),
                entries.stream().map(entry -> entry.getTransfer().getAmount()).toList());
        List<Entry> streamed = new ArrayList<>();
        try (RpcStream<Entry> statement = wallets.statement(debits)) {
            statement.forEachRemaining(streamed::add);
        }
        assertEquals(entries, streamed);
        assertEquals(6, wallets.history("alice", "EUR").getEntriesCount() + 1, "all but the holds");
        assertEquals(0, wallets.balanceAt("alice", "EUR", Instant.ofEpochMilli(5)).posted());
        assertEquals(1_000, wallets.balanceAt("alice", "EUR", paid.at()).posted());
        assertEquals(Balance.ZERO, wallets.balance("nobody", "EUR"));
        assertEquals(2, wallets.accountsOf(List.of("alice", "bob")).size());
        assertEquals("bob", Outcome.only(wallets.accounts(
                AccountsRequest.newBuilder().setPrefix("bo").build())).getWallet());
        assertTrue(wallets.assets().stream().anyMatch(asset ->
                asset.getAsset().equals("EUR") && asset.getScale() == 2));
    }

    @Test
    void theSameIdIsBookedOnce() {
        wallets.open(NewAccount.of("carol", "EUR"));
        UUID id = Ids.of("payment", "store-4711");
        // The Python SDK makes the same one.
        assertEquals(UUID.fromString("7f0bcd53-83c6-5b26-977d-acca3e62b2bd"), id);
        Booked first = wallets.deposit(eur(100), "@bank", "carol", id);
        Booked again = wallets.deposit(eur(100), "@bank", "carol", id);
        assertFalse(first.isDuplicate());
        assertEquals(new Booked(id, first.at(), true), again);
        assertEquals("WAL-026",
                Soon.code(() -> wallets.deposit(eur(101), "@bank", "carol", id)));
        assertEquals(100, wallets.balance("carol", "EUR").posted());
    }

    @Test
    void linkedTransfersAreBookedAllOrNone() {
        wallets.openAll(List.of(NewAccount.of("{d}:1", "EUR"), NewAccount.of("{d}:2", "EUR")));
        wallets.deposit(eur(100), "@bank", "{d}:1", UUID.randomUUID());
        List<Transfer> pair = List.of(Transfer.post(eur(60)).from("{d}:1").to("{d}:2"),
                Transfer.post(eur(60)).from("{d}:1").to("@shop"));
        assertEquals("WAL-032", Soon.code(() -> wallets.transferAll(pair, Booking.LINKED)));
        assertEquals(100, wallets.balance("{d}:1", "EUR").posted());
        List<Outcome<Booked>> each = wallets.transferAll(
                pair.stream().map(transfer -> transfer.id(UUID.randomUUID())).toList(),
                Booking.EACH);
        assertTrue(each.get(0).isOk());
        assertEquals("WAL-023", Soon.code(() -> each.get(1).get()));
    }

    /** Thirty voters with three votes each cast ten at once: ninety count, and each has its job. */
    @Test
    void votesAreNeverOverdrawnHoweverManyAskAtOnce() {
        List<String> voters = IntStream.range(0, 30).mapToObj(nth -> "voter:" + nth).toList();
        wallets.openAll(voters.stream().map(voter -> NewAccount.of(voter, "VOTE")).toList());
        wallets.transferAll(voters.stream()
                .map(voter -> Transfer.post(Amount.of(3, "VOTE")).from("@shop").to(voter)).toList(),
                Booking.EACH).forEach(Outcome::get);
        List<CompletableFuture<BookedUnit>> votes = new ArrayList<>();
        for (int nth = 0; nth < 10; nth++) {
            for (String voter : voters) {
                Transfer vote = Transfer.post(Amount.of(1, "VOTE")).from(voter).to("@poll:ann");
                votes.add(wallets.async().together(
                        Unit.of(vote).job("ballots", NewJob.of(voter))));
            }
        }
        int counted = 0;
        for (CompletableFuture<BookedUnit> vote : votes) {
            try {
                assertEquals(1, vote.join().jobs().size());
                counted++;
            } catch (CompletionException e) {
                assertEquals("WAL-023", ((Rejected) e.getCause()).code());
            }
        }
        assertEquals(300, votes.size());
        assertEquals(90, counted);
        assertEquals(90, wallets.balance("@poll:ann", "VOTE").posted());
        voters.forEach(voter -> assertEquals(0, wallets.balance(voter, "VOTE").posted()));
        assertEquals(90, stadium.queue("ballots").stats().getPut());
        List<Outcome<BookedUnit>> units = wallets.togetherAll(List.of(
                Unit.of(Transfer.post(Amount.of(1, "VOTE")).from("@shop").to("voter:0")),
                Unit.of(Transfer.post(Amount.of(9, "VOTE")).from("voter:1").to("@shop"))));
        assertTrue(units.get(0).isOk() && !units.get(1).isOk());
    }

    @Test
    void wrongAmountsAndWalletsAreRefusedBeforeAnythingIsSent() {
        for (long amount : new long[] {0, -1, Long.MIN_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> eur(amount));
        }
        Transfer post = Transfer.post(eur(1));
        refused(() -> wallets.transfer(post.from("a")));
        refused(() -> Transfer.voidHold(UUID.randomUUID()).from("a"));
        refused(() -> Transfer.capture(UUID.randomUUID(), 0));
        refused(() -> Transfer.hold(eur(1), Duration.ofMillis(999)));
        refused(() -> Transfer.hold(eur(1), Duration.ofDays(367)));
        refused(() -> post.reference("x".repeat(129)));
        refused(() -> post.metadata(new byte[1_025]));
        refused(() -> wallets.deposit(eur(1), "bank", "a", UUID.randomUUID()));
        refused(() -> wallets.transferAll(List.of(), Booking.EACH));
        refused(() -> wallets.declare("EUR", 19));
        assertThrows(Rejected.class, () -> wallets.find(UUID.randomUUID()));
    }

    private static void refused(org.junit.jupiter.api.function.Executable wrong) {
        assertThrows(IllegalArgumentException.class, wrong);
    }

    private static Amount eur(long cents) {
        return Amount.of(cents, "EUR");
    }
}
