package io.stadium.rpc.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.stadium.rsocket.metadata.Authentication;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.metadata.MalformedMetadataException;
import io.stadium.rsocket.metadata.Tracing;
import io.stadium.rsocket.metadata.WellKnownMimeType;
import java.nio.charset.StandardCharsets;

/**
 * A server's view of a request's metadata: route, time left, key, credentials, trace.
 *
 * <p>Malformed metadata ends the reading, and the entries before it count. docs/rpc-guards.md,
 * Reading metadata, has the rules. One object reads many requests, nothing is copied, and reading
 * allocates nothing: the view is valid while its buffer is. Instances are not thread-safe.
 */
public final class RequestMetadata {
    /** The MIME type of the remaining time: four bytes, big-endian milliseconds. */
    public static final String DEADLINE = "message/x.stadium.deadline.v1";

    /** The MIME type of the affinity key. */
    public static final String KEY = "message/x.stadium.key.v1";

    /** In SETUP: the client understands {@link #LOAD}. */
    public static final String PEER = "message/x.stadium.peer.v1";

    /** Pushed by servers: a big-endian float, the load factor, and 1 while they quiesce. */
    public static final String LOAD = "message/x.stadium.load.v1";

    private static final byte[] DEADLINE_NAME = ascii(DEADLINE);
    private static final byte[] KEY_NAME = ascii(KEY);
    private static final byte[] PEER_NAME = ascii(PEER);
    private static final byte[] ROUTING_NAME = wellKnown(WellKnownMimeType.ROUTING);
    private static final byte[] AUTHENTICATION_NAME = wellKnown(WellKnownMimeType.AUTHENTICATION);
    private static final byte[] TRACING_NAME = wellKnown(WellKnownMimeType.TRACING);
    private static final int ABSENT = -1;

    private final CompositeMetadata entries = new CompositeMetadata();
    private ByteBuf buffer;
    private int start;
    private int length;
    private boolean isComposite;
    private int routeIndex;
    private int routeLength;
    private long leftMs;
    private int keyIndex;
    private int keyLength;
    private int authenticationIndex;
    private int authenticationLength;
    private int tracingIndex;
    private int tracingLength;

    /** Creates a view of nothing. */
    public RequestMetadata() {
        read(null, 0, 0, true);
    }

    /**
     * Reads the metadata of another request.
     *
     * @param source the buffer that holds it; its indices are left alone
     * @param index where it begins
     * @param bytes its length; 0 or less means none
     * @param composite whether it is composite metadata; otherwise it is the content of a routing
     *     entry, as SETUP has announced
     */
    public void read(ByteBuf source, int index, int bytes, boolean composite) {
        buffer = source;
        start = index;
        length = Math.max(bytes, 0);
        isComposite = composite;
        routeLength = ABSENT;
        leftMs = ABSENT;
        keyLength = ABSENT;
        authenticationLength = ABSENT;
        tracingLength = ABSENT;
        if (!composite) {
            readRoute(index, length);
            return;
        }
        entries.reset(source, index, length);
        while (entries.next()) {
            readEntry();
        }
    }

    private void readEntry() {
        int at = entries.contentIndex();
        int bytes = entries.contentLength();
        switch (kind()) {
            case WellKnownMimeType.ROUTING -> {
                if (routeLength == ABSENT) {
                    readRoute(at, bytes);
                }
            }
            case WellKnownMimeType.AUTHENTICATION -> {
                if (authenticationLength == ABSENT) {
                    authenticationIndex = at;
                    authenticationLength = bytes;
                }
            }
            case WellKnownMimeType.TRACING -> {
                if (tracingLength == ABSENT) {
                    tracingIndex = at;
                    tracingLength = bytes;
                }
            }
            case ABSENT -> {
                if (entries.isNamed(DEADLINE_NAME)) {
                    leftMs = bytes == 4 ? buffer.getUnsignedInt(at) : ABSENT;
                } else if (keyLength == ABSENT && entries.isNamed(KEY_NAME)) {
                    keyIndex = at;
                    keyLength = bytes;
                }
            }
            default -> {}
        }
    }

    /** The well-known id of the entry's MIME type, also where it is written as a name. */
    private int kind() {
        int id = entries.mimeTypeId();
        if (id >= 0) {
            return id;
        }
        if (entries.isNamed(ROUTING_NAME)) {
            return WellKnownMimeType.ROUTING;
        }
        if (entries.isNamed(AUTHENTICATION_NAME)) {
            return WellKnownMimeType.AUTHENTICATION;
        }
        return entries.isNamed(TRACING_NAME) ? WellKnownMimeType.TRACING : ABSENT;
    }

    /** Takes the first tag of a routing entry, unless it ends too early or is not UTF-8. */
    private void readRoute(int index, int bytes) {
        if (bytes < 1) {
            return;
        }
        int tag = buffer.getUnsignedByte(index);
        if (tag <= bytes - 1
                && ByteBufUtil.isText(buffer, index + 1, tag, StandardCharsets.UTF_8)) {
            routeIndex = index + 1;
            routeLength = tag;
        }
    }

    /**
     * Whether the metadata names a route.
     *
     * @return whether there is one; it may be empty
     */
    public boolean hasRoute() {
        return routeLength != ABSENT;
    }

    /**
     * Whether the route is these bytes.
     *
     * @param route a route in UTF-8, from index 0
     * @return whether they are equal
     */
    public boolean isRoute(ByteBuf route) {
        return routeLength == route.readableBytes()
                && ByteBufUtil.equals(buffer, routeIndex, route, 0, routeLength);
    }

    /**
     * The route.
     *
     * @return a new string, or {@code null} where there is none
     */
    public String route() {
        return routeLength == ABSENT
                ? null : buffer.toString(routeIndex, routeLength, StandardCharsets.UTF_8);
    }

    /**
     * The time that the caller still waits.
     *
     * @return milliseconds, 0 to 2^32 - 1; or -1 where it is not stated
     */
    public long leftMs() {
        return leftMs;
    }

    /**
     * The affinity key.
     *
     * @return a new array, or {@code null} where there is none
     */
    public byte[] key() {
        return keyLength == ABSENT ? null : ByteBufUtil.getBytes(buffer, keyIndex, keyLength, true);
    }

    /**
     * The caller's credentials, which nobody has checked.
     *
     * @return the credentials, or {@code null} where there are none or they are malformed
     */
    public Authentication authentication() {
        if (authenticationLength == ABSENT) {
            return null;
        }
        try {
            return Authentication.read(buffer, authenticationIndex, authenticationLength);
        } catch (MalformedMetadataException e) {
            return null;
        }
    }

    /**
     * The trace that the call belongs to.
     *
     * @return the trace, or {@code null} where there is none or it is malformed
     */
    public Tracing tracing() {
        if (tracingLength == ABSENT) {
            return null;
        }
        try {
            return Tracing.read(buffer, tracingIndex, tracingLength);
        } catch (MalformedMetadataException e) {
            return null;
        }
    }

    /**
     * The content of the first entry of a MIME type.
     *
     * @param mimeType the MIME type
     * @return a new array, or {@code null} where there is no such entry
     */
    public byte[] entry(String mimeType) {
        if (!isComposite) {
            return null;
        }
        int id = WellKnownMimeType.id(mimeType);
        byte[] name = ascii(mimeType);
        entries.reset(buffer, start, length);
        while (entries.next()) {
            if (id >= 0 && entries.mimeTypeId() == id || entries.isNamed(name)) {
                return ByteBufUtil.getBytes(
                        buffer, entries.contentIndex(), entries.contentLength(), true);
            }
        }
        return null;
    }

    /**
     * The metadata as it was received.
     *
     * @return a new array
     */
    public byte[] bytes() {
        return length == 0 ? new byte[0] : ByteBufUtil.getBytes(buffer, start, length, true);
    }

    /**
     * Whether the metadata of a SETUP states that the client understands pushes of load.
     *
     * @param setup composite metadata, which may be empty
     * @return whether it has the entry
     */
    public static boolean isPeer(ByteBuf setup) {
        CompositeMetadata entries = new CompositeMetadata()
                .reset(setup, setup.readerIndex(), setup.readableBytes());
        while (entries.next()) {
            if (entries.isNamed(PEER_NAME)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Appends the load that a server pushes.
     *
     * @param out the buffer to append to
     * @param factor the load factor
     * @param isQuiescing whether the instance leaves
     */
    public static void writeLoad(ByteBuf out, float factor, boolean isQuiescing) {
        int entry = CompositeMetadata.begin(out, LOAD);
        out.writeFloat(factor);
        out.writeByte(isQuiescing ? 1 : 0);
        CompositeMetadata.end(out, entry);
    }

    private static byte[] wellKnown(int id) {
        return ascii(WellKnownMimeType.name(id));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
