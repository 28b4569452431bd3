package io.stadium.rsocket.bench;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.metadata.Routing;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketClient;
import io.stadium.rsocket.netty.RSocketHandler;
import io.stadium.rsocket.netty.RSocketServer;
import io.stadium.rsocket.netty.StreamHandler;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.TreeMap;

/**
 * Measures echo calls: over RSocket, or over a bare Netty pipeline with the same length-framed
 * payloads.
 *
 * <p>Start the server, then the client, each pinned to its own core by {@code taskset}:
 *
 * <pre>
 * taskset -c 0 java -cp ... Echo server peer=rsocket port=7000
 * taskset -c 1 java -cp ... Echo client peer=rsocket port=7000 connections=10 inflight=200 bytes=48
 * </pre>
 *
 * <p>The role {@code both} runs the two in one process on two event loops. It prints calls for each
 * second of the process's CPU time, over {@code seconds} such seconds: a measure that other
 * processes of a busy machine disturb less.
 *
 * <p>Settings are {@code key=value}: {@code peer} (rsocket, bare), {@code port}, {@code spin}
 * (microseconds that the event loop polls before it sleeps), and for the client {@code
 * connections}, {@code inflight} (calls in flight on all connections together), {@code bytes},
 * {@code seconds}. With one call in flight the client prints the median round trip, otherwise calls
 * in a second.
 */
public final class Echo {
    private static final String ROUTE = "echo/Echo";

    private Echo() {}

    /**
     * Runs a server until it is killed, or a client for some seconds.
     *
     * @param arguments the role and its settings
     * @throws Exception if the server cannot be reached
     */
    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new TreeMap<>();
        for (int nth = 1; nth < arguments.length; nth++) {
            String[] setting = arguments[nth].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        int spin = number(settings, "spin", 0);
        EventLoops loops = spin == 0 ? EventLoops.start(1) : EventLoops.startSpinning(1, spin);
        boolean isBare = settings.getOrDefault("peer", "rsocket").equals("bare");
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", number(settings, "port", 0));
        boolean isBoth = arguments[0].equals("both");
        if (isBoth || arguments[0].equals("server")) {
            EventLoops own = isBoth ? EventLoops.start(1) : loops;
            address = isBare
                    ? BareNetty.serve(address)
                    : new RSocketServer(own).handlers(() -> SERVICE).bind(address).get().address();
            System.out.println("listening " + address.getPort());
        }
        if (arguments[0].equals("server")) {
            Thread.currentThread().join();
        }
        int connections = number(settings, "connections", 1);
        int inflight = number(settings, "inflight", 200);
        Meter meter = new Meter(inflight == 1);
        ByteBuf message = Unpooled.directBuffer().writeZero(number(settings, "bytes", 48));
        for (int nth = 0; nth < connections; nth++) {
            int calls = inflight / connections + (nth < inflight % connections ? 1 : 0);
            if (isBare) {
                BareNetty.call(address, message, calls, meter);
            } else {
                RSocket rsocket = new RSocketClient(loops).connect(address).get();
                rsocket.execute(() -> new Caller(message, meter).begin(rsocket, calls));
            }
        }
        int seconds = number(settings, "seconds", 3);
        System.out.println(isBoth ? meter.measureCpu(seconds) : meter.measure(seconds));
        System.exit(0);
    }

    private static int number(Map<String, String> settings, String key, int otherwise) {
        return Integer.parseInt(settings.getOrDefault(key, Integer.toString(otherwise)));
    }

    /** Returns each request's data. */
    private static final RSocketHandler SERVICE = new RSocketHandler() {
        private final PayloadWriter<Payload> copy =
                (payload, out) -> out.writeBytes(payload.data(), payload.dataIndex(),
                        payload.dataLength());

        @Override
        public void onRequest(
                RSocket rsocket, int streamId, Interaction interaction, int initialRequestN,
                        Payload payload) {
            rsocket.payload(streamId, Completion.COMPLETE, null, payload, copy);
        }
    };

    /** Sends the next request when a response arrives. */
    private static final class Caller implements StreamHandler {
        private final ByteBuf metadata = Unpooled.directBuffer();
        private final ByteBuf message;
        private final Meter meter;

        Caller(ByteBuf message, Meter meter) {
            this.message = message.duplicate();
            this.meter = meter;
            Routing.write(metadata, ROUTE);
        }

        void begin(RSocket rsocket, int calls) {
            for (int nth = 0; nth < calls; nth++) {
                call(rsocket);
            }
        }

        private void call(RSocket rsocket) {
            rsocket.request(
                    Interaction.REQUEST_RESPONSE, 1, Completion.COMPLETE, this, metadata, message,
                    PayloadWriter.BUFFER);
        }

        @Override
        public void onPayload(RSocket rsocket, int streamId, Payload payload) {
            meter.called();
            call(rsocket);
        }
    }
}
