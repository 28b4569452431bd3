package io.stadium.rsocket.connection;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.Interaction;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Statements of docs/rsocket.md, named in brackets, that the vectors do not show. */
class ProtocolTest {
    private final Pair pair = new Pair(Config.DEFAULT);

    /** [ID-1] [ID-2] [RESPONSE-7] */
    @Test
    void eitherSideCountsItsOwnIds() {
        assertEquals(1, pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a"));
        assertEquals(3, pair.request(Interaction.FIRE_AND_FORGET, 1, Completion.OPEN, "b"));
        assertEquals(List.of("request", "request"), pair.up());
        int id = pair.server.request(
                Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, null, null, null,
                PayloadWriter.BUFFER, pair.down);
        assertEquals(2, id);
        assertEquals(List.of("request"), pair.down());
        assertEquals(
                SendResult.SENT,
                pair.client.payload(2, Completion.OPEN, null, null, PayloadWriter.BUFFER, pair.up));
        assertEquals(List.of("payload and complete"), pair.up());
        assertEquals(1, pair.client.streamsOpen());
        assertEquals(1, pair.server.streamsOpen());
    }

    /** [RESPONSE-4] */
    @Test
    void anAnswerMayBeEmpty() {
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a");
        pair.up();
        assertEquals(SendResult.SENT, pair.server.complete(1, pair.down));
        assertEquals(List.of("complete"), pair.down());
        assertEquals(0, pair.client.streamsOpen());
    }

    /** [RESPONSE-5] */
    @Test
    void aCancelledRequestIsNotAnswered() {
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a");
        pair.up();
        assertEquals(SendResult.SENT, pair.client.cancel(1, pair.up));
        assertEquals(List.of("cancelled STREAM"), pair.up());
        assertEquals(SendResult.UNKNOWN_STREAM, pair.answer(1, Completion.COMPLETE, "late"));
        assertEquals(0, pair.down.readableBytes());
    }

    /** [RESPONSE-6] */
    @Test
    void anAnswerWithoutCompleteIsComplete() {
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a");
        FrameEncoder.payload(pair.down, 1, FrameFlag.NEXT, null, null);
        assertEquals(List.of("payload and complete"), pair.down());
        assertEquals(0, pair.client.streamsOpen());
    }

    /** [STREAM-1] [STREAM-2] [CREDIT-2] */
    @Test
    void aStreamBringsAsManyValuesAsWereAskedFor() {
        pair.request(Interaction.REQUEST_STREAM, 2, Completion.OPEN, "a");
        pair.up();
        assertEquals(SendResult.SENT, pair.answer(1, Completion.OPEN, "1"));
        assertEquals(SendResult.SENT, pair.answer(1, Completion.OPEN, "2"));
        assertEquals(SendResult.NO_CREDIT, pair.answer(1, Completion.OPEN, "3"));
        assertEquals(SendResult.SENT, pair.client.requestN(1, 1, pair.up));
        assertEquals(SendResult.SENT, pair.client.requestN(1, 2, pair.up));
        assertEquals(List.of("credit", "credit"), pair.up());
        assertEquals(3, pair.server.credit(1));
        assertEquals(SendResult.SENT, pair.answer(1, Completion.COMPLETE, "3"));
        assertEquals(List.of("payload", "payload", "payload and complete"), pair.down());
        assertEquals(0, pair.client.streamsOpen() + pair.server.streamsOpen());
    }

    /** [CHANNEL-3] [CHANNEL-8] */
    @Test
    void aRespondersCancelStopsTheRequestersValuesOnly() {
        pair.request(Interaction.REQUEST_CHANNEL, 5, Completion.OPEN, "a");
        pair.up();
        pair.server.requestN(1, 1, pair.down);
        assertEquals(List.of("credit"), pair.down());
        assertEquals(SendResult.SENT, pair.send(1, Completion.OPEN, "b"));
        assertEquals(SendResult.NO_CREDIT, pair.send(1, Completion.OPEN, "c"));
        assertEquals(List.of("payload"), pair.up());
        assertEquals(SendResult.SENT, pair.server.cancel(1, pair.down));
        assertEquals(List.of("cancelled SENDING"), pair.down());
        assertEquals(SendResult.UNKNOWN_STREAM, pair.send(1, Completion.OPEN, "d"));
        assertEquals(SendResult.SENT, pair.answer(1, Completion.COMPLETE, "last"));
        assertEquals(List.of("payload and complete"), pair.down());
        assertEquals(0, pair.client.streamsOpen() + pair.server.streamsOpen());
    }

    /** [CHANNEL-6] [ERROR-8] */
    @Test
    void aRequesterMayFailAChannelOnly() {
        pair.request(Interaction.REQUEST_CHANNEL, 5, Completion.OPEN, "a");
        pair.request(Interaction.REQUEST_STREAM, 5, Completion.OPEN, "a");
        pair.up();
        assertEquals(SendResult.SENT, pair.client.error(1, ErrorCode.APPLICATION_ERROR, "no",
                pair.up));
        assertEquals(SendResult.UNKNOWN_STREAM, pair.client.error(3, ErrorCode.CANCELED, "no",
                pair.up));
        assertEquals(List.of("failed 513 no"), pair.up());
    }

    /** [ERROR-3] [ERROR-2] */
    @Test
    void aCloseLetsStreamsEndAndRefusesNewOnes() {
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a");
        pair.up();
        pair.server.close(ErrorCode.CONNECTION_CLOSE, "bye", pair.down);
        assertTrue(pair.server.isClosing());
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "b");
        assertEquals(List.of(), pair.up());
        assertEquals(List.of("closing bye",
                "failed 514 BUSY retry_after_ms=0: connection is closing"), pair.down());
        assertEquals(
                RequestError.CLOSED,
                RequestError.of(pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN,
                "c")));
        assertEquals(SendResult.SENT, pair.answer(1, Completion.COMPLETE, "1"));
        assertEquals(List.of("payload and complete"), pair.down());
        assertEquals(0, pair.server.streamsOpen());
    }

    /** [SETUP-8] [SETUP-10] */
    @Test
    void nothingIsReceivedBehindASetupUntilItIsAnswered() {
        ByteBuf up = Unpooled.buffer();
        ByteBuf down = Unpooled.buffer();
        Recorder recorder = new Recorder();
        Connection client = Connection.client(
                Config.DEFAULT, new SetupOptions("a/b", "c/d", new byte[] {1}, new byte[] {2, 3}),
                UnpooledByteBufAllocator.DEFAULT, new Recorder(), 0, up);
        Connection server =
                Connection.server(Config.DEFAULT, UnpooledByteBufAllocator.DEFAULT, recorder, 0);
        client.request(
                Interaction.FIRE_AND_FORGET, 1, Completion.OPEN, null, null, null,
                PayloadWriter.BUFFER, up);
        server.receive(0, up, down);
        assertEquals(List.of("setup"), recorder.take());
        assertEquals(9, up.readableBytes());
        assertTrue(server.isDeciding());
        server.accept();
        server.receive(0, up, down);
        assertEquals(List.of("request"), recorder.take());
        assertEquals(0, up.readableBytes());
        assertEquals(0, down.readableBytes());
    }

    /** [SETUP-16] */
    @Test
    void aClientThatSaysNothingIsCut() {
        Recorder recorder = new Recorder();
        ByteBuf down = Unpooled.buffer();
        Connection server =
                Connection.server(Config.DEFAULT, UnpooledByteBufAllocator.DEFAULT, recorder, 100);
        assertEquals(10_100, server.deadlineMs());
        server.advance(10_099, down);
        assertEquals(List.of(), recorder.take());
        server.advance(10_100, down);
        assertEquals(List.of("closed"), recorder.take());
        assertEquals(Closed.Reason.SETUP_TIMEOUT, recorder.closed.reason());
    }

    /** [KEEPALIVE-5] [KEEPALIVE-6] */
    @Test
    void anyByteIsASignOfLife() {
        pair.nowMs = 89_999;
        pair.server.receive(pair.nowMs, Unpooled.wrappedBuffer(new byte[1]), pair.down);
        pair.server.advance(90_000, pair.down);
        assertEquals(List.of(), pair.serverEvents.take());
        pair.server.advance(89_999 + 90_000, pair.down);
        assertEquals(List.of("closed"), pair.serverEvents.take());
    }

    /** [UNEXPECTED-2] */
    @Test
    void metadataPushBelongsToTheConnection() {
        pair.client.metadataPush(Pair.bytes("m"), pair.up);
        int start = FrameEncoder.begin(pair.up, 1, 0x0C, FrameFlag.METADATA);
        FrameEncoder.seal(pair.up, start);
        assertEquals(List.of("metadata push"), pair.up());
        assertArrayEquals(new byte[] {'m'}, pair.serverEvents.metadata);
    }

    /** [ID-7] */
    @Test
    void aConnectionWhoseIdsAreUsedUpTakesNoRequests() {
        Sender sender = new Sender(pair.client);
        sender.skipTo(Integer.MAX_VALUE);
        ByteBuf out = Unpooled.buffer();
        int last = sender.request(
                Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, null, null, null,
                PayloadWriter.BUFFER, out);
        assertEquals(Integer.MAX_VALUE, last);
        int none = sender.request(
                Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, null, null, null,
                PayloadWriter.BUFFER, out);
        assertEquals(RequestError.IDS_EXHAUSTED, RequestError.of(none));
    }

    @Test
    void aWriterThatThrowsLeavesNothingBehind() {
        PayloadWriter<Object> broken = (message, out) -> {
            out.writeByte(1);
            throw new IllegalStateException("broken");
        };
        assertThrows(
                IllegalStateException.class,
                () -> pair.client.request(
                        Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, null, null, null, broken,
                        pair.up));
        assertEquals(0, pair.up.readableBytes());
        assertEquals(0, pair.client.streamsOpen());
        assertEquals(1, pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a"));
    }

    @Test
    void theTextOfAnErrorIsCutAtACharacter() {
        Pair small = new Pair(Config.builder().fragmentBytes(64).build());
        small.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a");
        small.up();
        small.server.error(1, ErrorCode.INVALID, "ü".repeat(100), small.down);
        assertEquals(64, small.down.getUnsignedMedium(0));
        assertEquals(List.of("failed 516 " + "ü".repeat(27)), small.down());
    }

    @Test
    void attachmentsComeBack() {
        Object mine = new Object();
        int id = pair.client.request(
                Interaction.REQUEST_STREAM, 1, Completion.OPEN, mine, null, null,
                PayloadWriter.BUFFER, pair.up);
        assertEquals(mine, pair.client.attachment(id));
        pair.up();
        assertTrue(pair.server.attach(id, mine));
        assertFalse(pair.server.attach(99, mine));
        StringBuilder visited = new StringBuilder();
        pair.client.forEachStream((stream, attachment,
                role) -> visited.append(stream).append(role));
        pair.server.forEachStream((stream, attachment,
                role) -> visited.append(stream).append(role));
        assertEquals("1REQUESTER1RESPONDER", visited.toString());
    }

    @Test
    void dataIsReadAsText() {
        pair.request(Interaction.FIRE_AND_FORGET, 1, Completion.OPEN, "grüße");
        pair.up();
        assertEquals("grüße", new String(pair.serverEvents.data, StandardCharsets.UTF_8));
    }
}
