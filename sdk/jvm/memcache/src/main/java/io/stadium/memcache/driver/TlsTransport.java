package io.stadium.memcache.driver;

import io.stadium.memcache.Address;
import java.io.IOException;
import java.nio.ByteBuffer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/**
 * TLS over another transport. The name of the server is checked.
 *
 * <p>Reader and writer are two threads at most. The engine allows one of each; what is out of the
 * ordinary, such as a change of keys, is done under the lock of the writer.
 */
final class TlsTransport implements Transport {
    private final Transport plain;
    private final SSLEngine engine;
    private final Object writing = new Object();

    /** Received records that are not decrypted, ready to be filled. */
    private ByteBuffer received;
    /** Decrypted bytes that nobody took, ready to be taken. */
    private ByteBuffer decrypted;
    /** Encrypted bytes that are not out, ready to be taken. Guarded by {@link #writing}. */
    private final ByteBuffer encrypted;
    private volatile boolean hasUnflushed;

    private TlsTransport(Transport plain, SSLEngine engine) {
        this.plain = plain;
        this.engine = engine;
        int packet = engine.getSession().getPacketBufferSize();
        received = ByteBuffer.allocate(2 * packet);
        decrypted = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize()).flip();
        encrypted = ByteBuffer.allocate(2 * packet).flip();
    }

    static TlsTransport handshake(
            Transport plain, Address address, SSLContext context, long deadline)
            throws IOException {
        SSLEngine engine = address instanceof Address.Tcp tcp
                ? context.createSSLEngine(tcp.host(), tcp.port()) : context.createSSLEngine();
        engine.setUseClientMode(true);
        SSLParameters parameters = engine.getSSLParameters();
        if (address instanceof Address.Tcp) {
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
        }
        engine.setSSLParameters(parameters);
        TlsTransport transport = new TlsTransport(plain, engine);
        engine.beginHandshake();
        ByteBuffer nothing = ByteBuffer.allocate(0);
        while (engine.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING) {
            boolean isBlocked = !transport.flush();
            if (!isBlocked && engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
                synchronized (transport.writing) {
                    transport.wrap(nothing);
                }
                continue;
            }
            transport.runTasks();
            if (isBlocked || !transport.unwrap() && isStuck(engine)) {
                plain.await(isBlocked, Connector.left(deadline));
            }
        }
        while (!transport.flush()) {
            plain.await(true, Connector.left(deadline));
        }
        return transport;
    }

    private static boolean isStuck(SSLEngine engine) {
        HandshakeStatus status = engine.getHandshakeStatus();
        return status == HandshakeStatus.NEED_UNWRAP
                || status == HandshakeStatus.NEED_UNWRAP_AGAIN;
    }

    private void runTasks() {
        while (engine.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
            engine.getDelegatedTask().run();
        }
    }

    /** Reads and decrypts once; {@code false} where nothing came. */
    private boolean unwrap() throws IOException {
        int bytes = plain.read(received);
        received.flip();
        SSLEngineResult result;
        decrypted.compact();
        try {
            result = engine.unwrap(received, decrypted);
        } finally {
            received.compact();
            decrypted.flip();
        }
        switch (result.getStatus()) {
            case CLOSED -> throw new IOException("the server closed the connection");
            case BUFFER_OVERFLOW -> decrypted = larger(decrypted);
            case BUFFER_UNDERFLOW -> {
                if (bytes < 0) {
                    throw new IOException("the server closed the connection");
                }
                return bytes > 0;
            }
            default -> { }
        }
        return true;
    }

    private static ByteBuffer larger(ByteBuffer buffer) {
        return ByteBuffer.allocate(buffer.capacity() * 2).put(buffer).flip();
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        while (!decrypted.hasRemaining()) {
            if (!unwrap()) {
                return 0;
            }
            // A change of keys or a ticket of TLS 1.3.
            runTasks();
            if (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP) {
                synchronized (writing) {
                    if (flush()) {
                        wrap(ByteBuffer.allocate(0));
                        flush();
                    }
                }
            }
        }
        int bytes = Math.min(decrypted.remaining(), target.remaining());
        target.put(target.position(), decrypted, decrypted.position(), bytes);
        target.position(target.position() + bytes);
        decrypted.position(decrypted.position() + bytes);
        return bytes;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        synchronized (writing) {
            int before = source.remaining();
            while (flush() && source.hasRemaining()) {
                wrap(source);
            }
            return before - source.remaining();
        }
    }

    /** Encrypts one record; everything before it is out. */
    private void wrap(ByteBuffer source) throws SSLException {
        encrypted.clear();
        try {
            SSLEngineResult result = engine.wrap(source, encrypted);
            if (result.getStatus() == Status.CLOSED) {
                throw new SSLException("the connection is closed");
            }
        } finally {
            encrypted.flip();
            hasUnflushed = encrypted.hasRemaining();
        }
    }

    /** Sends what is encrypted; {@code false} where some is left. */
    private boolean flush() throws IOException {
        synchronized (writing) {
            if (encrypted.hasRemaining()) {
                plain.write(encrypted);
                hasUnflushed = encrypted.hasRemaining();
            }
            return !encrypted.hasRemaining();
        }
    }

    @Override
    public boolean unflushed() {
        return hasUnflushed;
    }

    @Override
    public void await(boolean alsoWritable, long nanos) throws IOException {
        plain.await(alsoWritable, nanos);
    }

    @Override
    public void wakeUp() {
        plain.wakeUp();
    }

    @Override
    public void close() {
        plain.close();
    }
}
