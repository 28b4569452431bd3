package io.stadium.rsocket.frame;

import io.netty.buffer.ByteBuf;

/**
 * The fields of a SETUP to encode (SETUP Frame).
 *
 * @param majorVersion 1
 * @param minorVersion 0
 * @param keepaliveIntervalMs milliseconds between two KEEPALIVE frames, at least 1
 * @param lifetimeMs milliseconds without a sign of life after which a side is considered dead, at
 *     least 1
 * @param lease whether the client honours leases
 * @param resumeToken the token of the session, at most 65,535 bytes, or {@code null}
 * @param metadataMimeType MIME type of all metadata, at most 255 characters of US-ASCII
 * @param dataMimeType MIME type of all data, at most 255 characters of US-ASCII
 * @param metadata metadata, or {@code null}
 * @param data data, or {@code null}
 */
public record SetupFields(
        int majorVersion,
        int minorVersion,
        int keepaliveIntervalMs,
        int lifetimeMs,
        boolean lease,
        ByteBuf resumeToken,
        String metadataMimeType,
        String dataMimeType,
        ByteBuf metadata,
        ByteBuf data) {
    /** Checks what the fields of a frame can hold. */
    void check() {
        require(keepaliveIntervalMs >= 1, "the keep-alive interval must be more than 0");
        require(lifetimeMs >= 1, "the lifetime must be more than 0");
        require(resumeToken == null || resumeToken.readableBytes() <= 0xFFFF,
                "the resume token is too long");
        require(metadataMimeType.length() <= 0xFF, "the metadata MIME type is too long");
        require(dataMimeType.length() <= 0xFF, "the data MIME type is too long");
    }

    private static void require(boolean holds, String text) {
        if (!holds) {
            throw new IllegalArgumentException(text);
        }
    }
}
