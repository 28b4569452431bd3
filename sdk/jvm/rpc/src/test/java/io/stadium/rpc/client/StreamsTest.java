package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.Cancelled;
import io.stadium.rpc.Codec;
import io.stadium.rpc.ConnectionBroken;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Method;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import java.time.Duration;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams, publishers and channels. */
@Timeout(60)
class StreamsTest {
    private Peer peer;
    private RpcClient client;

    @BeforeEach
    void start() throws Exception {
        peer = new Peer();
        client = RpcClient.builder().instances(peer.address()).busyPoll(Duration.ZERO).start();
    }

    @AfterEach
    void stop() {
        client.close();
        peer.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    @Test
    void aStreamIsReadInOrderAndTheServiceKeepsToTheCredit() throws Exception {
        try (RpcStream<byte[]> stream =
                client.stream(Peer.COUNT, bytes("1000"), CallOptions.DEFAULT.credit(8))) {
            assertEquals("1", new String(stream.next()));
            Wait.until(() -> peer.notes.size() == 8, "the service uses its credit");
            Thread.sleep(20);
            assertEquals(8, peer.notes.size());
            for (int nth = 2; nth <= 1_000; nth++) {
                assertTrue(stream.hasNext());
                assertEquals(Integer.toString(nth), new String(stream.next()));
            }
            assertFalse(stream.hasNext());
            assertThrows(NoSuchElementException.class, stream::next);
            assertNull(stream.next(Duration.ofSeconds(1)));
        }
        assertEquals(0, peer.cancels.get());
    }

    @Test
    void aStreamThatIsClosedIsCancelledAtTheService() throws Exception {
        try (RpcStream<byte[]> stream =
                client.stream(Peer.COUNT, bytes("1000"), CallOptions.DEFAULT.credit(2))) {
            stream.next();
        }
        Wait.until(() -> peer.cancels.get() == 1, "the service is notified");
    }

    @Test
    void aReaderWaitsForItsTimeAndTheStreamGoesOn() {
        Method<byte[], byte[]> never = Method.stream("test/Never", Codec.BYTES, Codec.BYTES);
        try (RpcStream<byte[]> stream = client.stream(never, bytes(""))) {
            assertThrows(DeadlineExceeded.class, () -> stream.next(Duration.ofMillis(30)));
            assertThrows(DeadlineExceeded.class, () -> stream.next(Duration.ofMillis(30)));
        }
        try (RpcStream<byte[]> stream = client.stream(never, bytes(""),
                CallOptions.DEFAULT.deadline(Duration.ofMillis(50)))) {
            assertThrows(DeadlineExceeded.class, stream::next);
        }
        Method<byte[], byte[]> wrong = Method.stream("test/Wrong", Codec.BYTES, Codec.BYTES);
        try (RpcStream<byte[]> stream = client.stream(wrong, bytes(""))) {
            assertEquals("RPC-002", assertThrows(Rejected.class, stream::next).code());
        }
    }

    @Test
    void aStreamWhoseConnectionBreaksGivesWhatCameAndThenFails() throws Exception {
        try (RpcStream<byte[]> stream =
                client.stream(Peer.COUNT, bytes("1000"), CallOptions.DEFAULT.credit(4))) {
            stream.next();
            Wait.until(() -> peer.notes.size() >= 4, "the service uses its credit");
            Thread.sleep(50);
            peer.drop();
            assertThrows(ConnectionBroken.class, () -> {
                while (stream.hasNext()) {
                    stream.next();
                }
            });
        }
    }

    /** Requests one message at a time. */
    private static final class Subscriber implements Flow.Subscriber<byte[]> {
        final List<String> items = new CopyOnWriteArrayList<>();
        final CompletableFuture<Void> end = new CompletableFuture<>();
        volatile Flow.Subscription subscription;

        @Override
        public void onSubscribe(Flow.Subscription its) {
            subscription = its;
            its.request(1);
        }

        @Override
        public void onNext(byte[] item) {
            items.add(new String(item));
            if (items.size() != 50) {
                subscription.request(1);
            }
        }

        @Override
        public void onError(Throwable failure) {
            end.completeExceptionally(failure);
        }

        @Override
        public void onComplete() {
            end.complete(null);
        }
    }

    @Test
    void aPublisherKeepsToItsSubscribersRequests() throws Exception {
        Flow.Publisher<byte[]> publisher =
                client.publisher(Peer.COUNT, bytes("100"), CallOptions.DEFAULT);
        Subscriber subscriber = new Subscriber();
        publisher.subscribe(subscriber);
        Wait.until(() -> subscriber.items.size() == 50, "fifty messages");
        Thread.sleep(20);
        assertEquals(50, peer.notes.size());
        subscriber.subscription.request(50);
        Wait.answer(subscriber.end);
        assertEquals(100, subscriber.items.size());
        assertEquals("100", subscriber.items.get(99));
        Subscriber second = new Subscriber();
        publisher.subscribe(second);
        Wait.until(() -> second.items.size() == 50, "fifty messages");
        second.subscription.cancel();
        Wait.until(() -> peer.cancels.get() == 1, "the service is notified");
    }

    @Test
    void aChannelCarriesMessagesBothWaysAtThePaceOfEither() throws Exception {
        int count = 5_000;
        try (RpcChannel<byte[], byte[]> channel =
                client.channel(Peer.TALK, bytes("0"), CallOptions.DEFAULT.credit(16))) {
            Thread sender = new Thread(() -> {
                for (int nth = 1; nth < count; nth++) {
                    channel.send(bytes(Integer.toString(nth)));
                }
                channel.complete();
            });
            sender.start();
            for (int nth = 0; nth < count; nth++) {
                assertEquals(Integer.toString(nth), new String(channel.answers().next()));
            }
            assertFalse(channel.answers().hasNext());
            sender.join();
            assertThrows(Cancelled.class, () -> channel.send(bytes("late")));
        }
    }

    @Test
    void aSenderIsHeldBackByAServiceThatTakesNoMore() throws Exception {
        // It echoes only as its answers are taken, so nothing moves while they are not read.
        try (RpcChannel<byte[], byte[]> channel =
                client.channel(Peer.TALK, bytes("0"), CallOptions.DEFAULT.credit(1))) {
            assertTrue(channel.answers().hasNext());
            int taken = 0;
            while (taken < 10_000 && channel.trySend(bytes("x"))) {
                taken++;
            }
            assertTrue(taken >= 1_024 && taken < 10_000, taken + " taken");
            for (int nth = 0; nth < 100; nth++) {
                channel.answers().next();
            }
            channel.send(bytes("room again"));
        }
        Wait.until(() -> peer.cancels.get() == 1, "the service is notified");
    }

    @Test
    void aServiceThatRefusesFurtherRequestsEndsTheSender() throws Exception {
        try (RpcChannel<byte[], byte[]> channel =
                client.channel(Peer.TALK, bytes("0"), CallOptions.DEFAULT)) {
            channel.send(bytes("stop"));
            assertThrows(RpcException.class, () -> {
                for (int nth = 0; nth < 100_000; nth++) {
                    channel.send(bytes("x"));
                    Thread.sleep(1);
                }
            });
            assertEquals("0", new String(channel.answers().next()));
        }
    }
}
