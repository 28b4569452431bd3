// KryoNet: the same fields through Kryo's own serialiser, registered classes, one thread for each client, as its users have it.
package stadium.peers;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryonet.Connection;
import com.esotericsoftware.kryonet.Listener;
import com.esotericsoftware.kryonet.Server;
import com.esotericsoftware.minlog.Log;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;

final class KryoEcho {
    /** Bytes that a connection may have unsent; a full one is an error in KryoNet. */
    private static final int UNSENT_BYTES_MAX = 4 << 20;

    private static final int OBJECT_BYTES_MAX = 64 * 1024;
    private static final int CONNECT_MAX_MS = 5_000;

    public static final class Element {
        public long value;
        public int weight;
    }

    public static final class Sample {
        public long id;
        public Element[] elements;
        public int source;
        public byte kind;
    }

    private static void register(Kryo kryo) {
        kryo.setReferences(false);
        kryo.register(Element.class);
        kryo.register(Element[].class);
        kryo.register(Sample.class);
    }

    static void serve(Arguments arguments) throws IOException {
        Log.set(Log.LEVEL_NONE);
        Server server = new Server(UNSENT_BYTES_MAX, OBJECT_BYTES_MAX);
        register(server.getKryo());
        server.addListener(new Listener() {
            @Override
            public void received(Connection connection, Object message) {
                if (message instanceof Sample sample) {
                    connection.sendTCP(sample);
                }
            }
        });
        server.bind(arguments.address("listen"), null);
        server.start();
        arguments.listening();
    }

    static final class Client implements Opening {
        private Load load;

        @Override
        public Caller open(InetSocketAddress address, int elements, Load load) throws IOException {
            Log.set(Log.LEVEL_NONE);
            this.load = load;
            return new OneClient(address, elements, load);
        }

        @Override
        public void begin(Runnable calls) {
            synchronized (load) {
                calls.run();
            }
        }
    }

    /** Its answers come on its own thread, so the load is held by its lock. */
    private static final class OneClient extends Listener implements Caller {
        private record Call(int connection, long id, long startedNanos) {}

        private final com.esotericsoftware.kryonet.Client client =
                new com.esotericsoftware.kryonet.Client(UNSENT_BYTES_MAX, OBJECT_BYTES_MAX);
        private final ArrayDeque<Call> calls = new ArrayDeque<>();
        private final Sample sample = new Sample();
        private final Load load;
        private volatile boolean closing;

        OneClient(InetSocketAddress address, int elements, Load load) throws IOException {
            this.load = load;
            sample.source = 0x9E3779B9;
            sample.kind = 1;
            sample.elements = new Element[elements];
            for (int index = 0; index < elements; index++) {
                sample.elements[index] = new Element();
                // Kryo writes small numbers in few bytes; these are wide, so that the message is as long as the others'.
                sample.elements[index].value = 0x9E3779B97F4A7C15L * (index + 1);
                sample.elements[index].weight = 0x9E3779B9 * (index + 1);
            }
            register(client.getKryo());
            client.addListener(this);
            client.start();
            client.connect(CONNECT_MAX_MS, address.getAddress(), address.getPort());
            client.setKeepAliveTCP(0);
        }

        @Override
        public void call(int connection, long id, long startedNanos) {
            synchronized (load) {
                calls.add(new Call(connection, id, startedNanos));
                sample.id = id;
                client.sendTCP(sample);
            }
        }

        @Override
        public void received(Connection from, Object message) {
            if (message instanceof Sample answer) {
                synchronized (load) {
                    Call call = calls.remove();
                    load.answered(call.connection, call.id, answer.id, call.startedNanos);
                }
            }
        }

        @Override
        public void disconnected(Connection from) {
            if (!closing) {
                load.failed(new IOException("the connection has ended"));
            }
        }

        @Override
        public void close() {
            closing = true;
            client.stop();
        }
    }
}
