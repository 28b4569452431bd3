package io.stadium.examples.voting;

import com.fasterxml.jackson.databind.JsonNode;
import io.stadium.api.Amount;
import io.stadium.api.Booked;
import io.stadium.api.Ids;
import io.stadium.api.NewAccount;
import io.stadium.api.NewPush;
import io.stadium.api.ProvedTransfer;
import io.stadium.api.Receipt;
import io.stadium.api.Selector;
import io.stadium.api.Stadium;
import io.stadium.api.Transfer;
import io.stadium.api.Wallets;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.v1.Post;
import io.stadium.v1.RootsRequest;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * A voting night over the JVM SDK: {@code Night DATA}, with the data directory of a running server.
 *
 * <p>Voters buy three votes each and try to cast five, all at once. A vote is a transfer from the
 * voter's wallet to the candidate's, and its id is made of what it is for. So the program may be
 * started again: nothing is paid twice. The exit code is 1 where the books are not as they must be.
 */
public final class Night {
    private static final String POLL = "final";
    private static final String ASSET = "VOTE";
    private static final String LANGUAGE = "java";
    private static final List<String> CANDIDATES = List.of("ann", "ben");
    private static final List<String> VOTERS =
            IntStream.range(0, 20).mapToObj(nth -> LANGUAGE + "-" + nth).toList();

    /** Votes that each voter buys, and tries to cast. */
    private static final int BOUGHT = 3;

    private static final int CAST = 5;

    /** Votes that are sent again although they were paid. */
    private static final int REPEATED = 20;

    /** The longest that anything is waited for. A receipt waits for the seal: a minute at most. */
    private static final Duration PATIENCE = Duration.ofSeconds(100);

    private final Server server;
    private final Stadium stadium;
    private final Wallets wallets;

    private Night(Server server, Stadium stadium) {
        this.server = server;
        this.stadium = stadium;
        wallets = stadium.wallets();
    }

    /** Runs the night. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 1) {
            System.err.println("Night DATA: the data directory of a running `stadium serve`");
            System.exit(1);
        }
        Server server = new Server(Path.of(arguments[0]));
        boolean isRight = false;
        try (Stadium stadium = server.connect()) {
            isRight = new Night(server, stadium).run();
        } catch (RpcException | CompletionException | IOException e) {
            System.err.println("Night: " + e.getMessage());
        }
        System.exit(isRight ? 0 : 1);
    }

    private boolean run() throws Exception {
        final int credits = sell();
        List<Transfer> votes = votes();
        List<Optional<Booked>> booked = bookAll(votes);
        List<Transfer> paid = IntStream.range(0, votes.size())
                .filter(nth -> booked.get(nth).isPresent()).mapToObj(votes::get).toList();
        List<Optional<Booked>> again =
                bookAll(paid.subList(0, Math.min(REPEATED, paid.size())));
        final long twice =
                again.stream().filter(one -> !one.map(Booked::isDuplicate).orElse(false)).count();
        final boolean isProved = !paid.isEmpty() && proves(paid.get(0));
        final long left = VOTERS.stream()
                .mapToLong(voter -> wallets.balance("voter:" + voter, ASSET).available()).sum();
        // Those of other programs too.
        Map<String, Long> standings = new LinkedHashMap<>();
        CANDIDATES.forEach(candidate ->
                standings.put(candidate, wallets.balance(wallet(candidate), ASSET).posted()));
        String winner = CANDIDATES.stream()
                .reduce((one, other) -> standings.get(other) > standings.get(one) ? other : one)
                .orElseThrow();
        final long told = announce(winner);
        final boolean isBalanced = isBalanced();

        print("voters", VOTERS.size());
        print("votes bought", credits);
        print("votes cast", votes.size());
        print("votes paid", paid.size());
        print("votes refused", votes.size() - paid.size());
        print("sent again", again.size());
        print("paid twice", twice);
        print("votes left", left);
        print("receipt", isProved ? "proved" : "wrong");
        standings.forEach((candidate, count) -> print(wallet(candidate), count));
        print("winner", winner);
        print("devices told", told);
        print("books", isBalanced ? "balance" : "differ");
        long total = standings.values().stream().mapToLong(Long::longValue).sum();
        return paid.size() == credits && twice == 0 && left == 0 && isProved && isBalanced
                && total >= credits && told == VOTERS.size();
    }

    private static void print(String name, Object value) {
        System.out.printf("%-16s%8s%n", name, value);
    }

    private static String wallet(String candidate) {
        return "@" + POLL + ":" + candidate;
    }

    /** Opens the voters' accounts, and sells them their votes: a payment counts once. */
    private int sell() {
        wallets.declare(ASSET, 0);
        List<NewAccount> accounts =
                VOTERS.stream().map(voter -> NewAccount.of("voter:" + voter, ASSET)).toList();
        wallets.openAll(accounts).forEach(opened -> opened.get());
        List<Transfer> payments = VOTERS.stream()
                .map(voter -> Transfer.post(Amount.of(BOUGHT, ASSET))
                        .from("@shop")
                        .to("voter:" + voter)
                        .id(Ids.of("payment", POLL, voter)))
                .toList();
        return BOUGHT * (int) bookAll(payments).stream().filter(Optional::isPresent).count();
    }

    private static List<Transfer> votes() {
        List<Transfer> votes = new ArrayList<>();
        for (int nth = 0; nth < CAST; nth++) {
            for (int voter = 0; voter < VOTERS.size(); voter++) {
                String candidate = CANDIDATES.get((voter + nth) % 3 != 0 ? 0 : 1);
                String name = VOTERS.get(voter);
                votes.add(Transfer.post(Amount.of(1, ASSET))
                        .from("voter:" + name)
                        .to(wallet(candidate))
                        .id(Ids.of("vote", POLL, name, String.valueOf(nth)))
                        .reference(POLL));
            }
        }
        return votes;
    }

    /** Books transfers at once. */
    private List<Optional<Booked>> bookAll(List<Transfer> transfers) {
        List<CompletableFuture<Optional<Booked>>> booked =
                transfers.stream().map(this::book).toList();
        CompletableFuture.allOf(booked.toArray(CompletableFuture[]::new))
                .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
        return booked.stream().map(CompletableFuture::join).toList();
    }

    /**
     * Books a transfer: nothing where a wallet has not enough. The request is sent until its
     * outcome is known; its id makes that safe.
     */
    private CompletableFuture<Optional<Booked>> book(Transfer transfer) {
        return wallets.async().transfer(transfer).thenApply(Optional::of)
                .exceptionallyCompose(failure -> {
                    Throwable why =
                            failure instanceof CompletionException ? failure.getCause() : failure;
                    if (why instanceof Rejected refused) {
                        return refused.code().equals("WAL-023")
                                ? CompletableFuture.completedFuture(Optional.empty())
                                : CompletableFuture.failedFuture(refused);
                    }
                    long pauseMs = why instanceof Busy busy ? busy.retryAfter().toMillis() : 100;
                    Executor later = CompletableFuture.delayedExecutor(
                            pauseMs, TimeUnit.MILLISECONDS);
                    return CompletableFuture.supplyAsync(() -> transfer, later)
                            .thenCompose(this::book);
                });
    }

    /** Checks without the server that a receipt proves the vote under a published root. */
    private boolean proves(Transfer vote) throws Exception {
        String receipt = until("a receipt", () -> server.receipt(vote.id()));
        JsonNode read = Server.json(receipt);
        RootsRequest request = RootsRequest.newBuilder()
                .setShard(read.path("shard").asInt())
                .setAfter(read.path("seal").asLong() - 1)
                .setRootsMax(1)
                .build();
        ProvedTransfer proved = Receipt.verify(receipt, Receipt.rootsOf(wallets.roots(request)));
        Post post = vote.message().getPost();
        return proved.transfer().equals(vote.id()) && proved.debit().equals(post.getDebit())
                && proved.credit().equals(post.getCredit()) && proved.asset().equals(ASSET)
                && proved.minorUnits() == 1;
    }

    /** Pushes the winner to the voters' devices. Returns how many are told. */
    private long announce(String winner) throws Exception {
        for (String voter : VOTERS) {
            stadium.devices().change(voter, "{\"tags\": {\"add\": [\"" + LANGUAGE + "\"]}}");
        }
        UUID push = stadium.pushes().send(NewPush.to(Selector.tag(LANGUAGE))
                .id(Ids.of("winner", POLL, LANGUAGE, winner))
                .title("The winner is " + winner)
                .expiry(Duration.ofHours(1))).id();
        return until("the push", () -> {
            long targeted = stadium.pushes().find(push).getCounts().getTargeted();
            return targeted < VOTERS.size() ? Optional.empty() : Optional.of(targeted);
        });
    }

    /** Checks that each vote that somebody has was given by somebody. */
    private boolean isBalanced() {
        return wallets.assets().stream().anyMatch(asset ->
                asset.getAsset().equals(ASSET) && asset.getCredit().equals(asset.getDebit()));
    }

    /** Looks again and again until something is there. */
    private static <T> T until(String what, Callable<Optional<T>> look) throws Exception {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (System.nanoTime() - deadline < 0) {
            Optional<T> found = look.call();
            if (found.isPresent()) {
                return found.get();
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
        throw new IOException("it takes too long: " + what);
    }
}
