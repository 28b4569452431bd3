package io.stadium.rsocket.connection;

/**
 * What a client says about itself in its SETUP, besides what {@link Config} holds.
 *
 * @param metadataMimeType MIME type of all metadata, at most 255 characters of US-ASCII
 * @param dataMimeType MIME type of all data, at most 255 characters of US-ASCII
 * @param metadata metadata such as authentication, or {@code null}
 * @param data data, or {@code null}
 */
public record SetupOptions(String metadataMimeType, String dataMimeType, byte[] metadata,
        byte[] data) {
    /** Composite metadata, Protocol Buffers, and neither metadata nor data. */
    public static final SetupOptions DEFAULT = new SetupOptions(
            "message/x.rsocket.composite-metadata.v0", "application/vnd.google.protobuf", null,
            null);
}
