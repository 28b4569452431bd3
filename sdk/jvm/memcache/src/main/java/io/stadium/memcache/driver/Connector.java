package io.stadium.memcache.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.stadium.memcache.Address;
import io.stadium.memcache.Dialect;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Connects within a time. The first command finds out which protocol the server speaks. */
final class Connector {
    private static final int GREETING_BYTES_MAX = 512;

    private Connector() {}

    /**
     * A connected socket, the protocol of its server, and the server's IP address.
     *
     * @param peer {@code null} for a Unix socket
     */
    record Connected(Transport transport, Dialect dialect, InetAddress peer) {}

    /** The server does not let the client in. */
    static final class Refused extends IOException {
        private static final long serialVersionUID = 1L;

        Refused(String text) {
            super(text);
        }
    }

    static Connected connect(Address address, Settings settings) throws IOException {
        long deadline = System.nanoTime() + settings.connectTimeout();
        IOException last = null;
        for (SocketAddress socket : sockets(address)) {
            try {
                return connect(socket, address, settings, deadline);
            } catch (IOException error) {
                last = error;
            }
        }
        throw last == null ? new UnknownHostException("the name has no address") : last;
    }

    private static List<SocketAddress> sockets(Address address) throws IOException {
        if (address instanceof Address.Unix unix) {
            return List.of(UnixDomainSocketAddress.of(unix.path()));
        }
        Address.Tcp tcp = (Address.Tcp) address;
        List<SocketAddress> sockets = new ArrayList<>();
        for (InetAddress one : InetAddress.getAllByName(tcp.host())) {
            sockets.add(new InetSocketAddress(one, tcp.port()));
        }
        return sockets;
    }

    private static Connected connect(
            SocketAddress socket, Address address, Settings settings, long deadline)
            throws IOException {
        try {
            return connect(socket, address, settings, settings.dialect(), deadline);
        } catch (EOFException hungUp) {
            if (settings.dialect() != null) {
                throw hungUp;
            }
            // A proxy such as twemproxy hangs up on a command that it does not know.
            return connect(socket, address, settings, Dialect.CLASSIC, deadline);
        }
    }

    private static Connected connect(
            SocketAddress socket, Address address, Settings settings, Dialect wanted,
            long deadline) throws IOException {
        boolean isUnix = address instanceof Address.Unix;
        SocketChannel channel =
                isUnix ? SocketChannel.open(StandardProtocolFamily.UNIX) : SocketChannel.open();
        Transport transport = null;
        try {
            if (isUnix) {
                // It waits only while the backlog of the server is full.
                channel.configureBlocking(false);
                if (!channel.connect(socket)) {
                    throw new IOException("the server accepts no connection");
                }
            } else {
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                channel.configureBlocking(false);
                if (!channel.connect(socket)) {
                    finish(channel, deadline);
                }
            }
            transport = new PlainTransport(channel);
            if (settings.tls() != null) {
                transport = TlsTransport.handshake(transport, address, settings.tls(), deadline);
            }
            if (settings.login() != null) {
                logIn(transport, settings.login(), deadline);
            }
            InetAddress peer = socket instanceof InetSocketAddress tcp ? tcp.getAddress() : null;
            return new Connected(transport, greet(transport, wanted, deadline), peer);
        } catch (IOException | RuntimeException error) {
            if (transport != null) {
                transport.close();
            }
            channel.close();
            throw error;
        }
    }

    private static void finish(SocketChannel channel, long deadline) throws IOException {
        try (Selector selector = Selector.open()) {
            channel.register(selector, SelectionKey.OP_CONNECT);
            while (!channel.finishConnect()) {
                selector.select(TimeUnit.NANOSECONDS.toMillis(left(deadline)) + 1);
            }
        }
    }

    private static void logIn(Transport transport, byte[] login, long deadline)
            throws IOException {
        String line = ask(transport, login, deadline);
        if (!line.equals("STORED\r\n")) {
            throw new Refused(shown(line));
        }
    }

    /** Finds out the protocol: meta is there where mn is known. */
    private static Dialect greet(Transport transport, Dialect wanted, long deadline)
            throws IOException {
        String command = wanted == Dialect.CLASSIC ? "version\r\n" : "mn\r\n";
        String line = ask(transport, command.getBytes(UTF_8), deadline);
        if (line.equals("MN\r\n")) {
            return Dialect.META;
        }
        if (line.equals("ERROR\r\n") || line.startsWith("VERSION ")) {
            if (wanted == Dialect.META) {
                throw new IOException("the server lacks the meta protocol");
            }
            return Dialect.CLASSIC;
        }
        if (line.startsWith("CLIENT_ERROR unauth")) {
            throw new Refused(shown(line));
        }
        throw new IOException("no memcached answers so: " + shown(line));
    }

    /** The beginning of an answer, for people. */
    private static String shown(String line) {
        return line.substring(0, Math.min(line.length(), 80)).strip();
    }

    /** Sends a command and reads a line. */
    private static String ask(Transport transport, byte[] command, long deadline)
            throws IOException {
        ByteBuffer out = ByteBuffer.wrap(command);
        while (out.hasRemaining() || transport.unflushed()) {
            if (transport.write(out) == 0) {
                transport.await(true, left(deadline));
            }
        }
        ByteBuffer in = ByteBuffer.allocate(GREETING_BYTES_MAX);
        while (in.position() == 0 || in.get(in.position() - 1) != '\n') {
            int bytes = transport.read(in);
            if (bytes < 0) {
                throw new EOFException("the server closed the connection");
            }
            if (!in.hasRemaining()) {
                break;
            }
            if (bytes == 0) {
                transport.await(false, left(deadline));
            }
        }
        return new String(in.array(), 0, in.position(), UTF_8);
    }

    static long left(long deadline) throws IOException {
        long left = deadline - System.nanoTime();
        if (left <= 0) {
            throw new IOException("the time to connect is over");
        }
        return left;
    }
}
