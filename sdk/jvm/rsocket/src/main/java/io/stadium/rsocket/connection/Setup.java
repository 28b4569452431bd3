package io.stadium.rsocket.connection;

/**
 * A client's SETUP, as a server received it (SETUP Frame). MIME types are not interpreted.
 *
 * @param keepaliveIntervalMs milliseconds between two KEEPALIVE frames of the client
 * @param lifetimeMs milliseconds without a sign of life after which a side considers the other dead
 * @param lease whether the client honours leases and waits for one
 * @param metadataMimeType MIME type of all metadata
 * @param dataMimeType MIME type of all data
 * @param metadata metadata such as authentication, or {@code null}
 * @param data data, never {@code null}
 */
public record Setup(
        int keepaliveIntervalMs,
        int lifetimeMs,
        boolean lease,
        String metadataMimeType,
        String dataMimeType,
        byte[] metadata,
        byte[] data) {}
