package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;

/**
 * A view of the metadata and data of a received frame.
 *
 * <p>The view is valid until the {@link Listener}'s method returns; one view serves all frames. The
 * bytes stay in the buffer that was received. A listener that needs them later calls
 * {@link #retainData} or {@link #retainMetadata} and releases the result, or copies them.
 */
public final class Payload {
    private ByteBuf metadata = Unpooled.EMPTY_BUFFER;
    private int metadataIndex;
    private int metadataLength = -1;
    private ByteBuf data = Unpooled.EMPTY_BUFFER;
    private int dataIndex;
    private int dataLength;
    private boolean complete;

    Payload() {}

    Payload set(
            ByteBuf buffer, int metadataIndex, int metadataLength, int dataIndex, int dataLength,
            boolean complete) {
        this.metadata = buffer;
        this.metadataIndex = metadataIndex;
        this.metadataLength = metadataLength;
        this.data = buffer;
        this.dataIndex = dataIndex;
        this.dataLength = dataLength;
        this.complete = complete;
        return this;
    }

    /** Shows two whole buffers; {@code null} metadata is absent. */
    Payload set(ByteBuf metadata, ByteBuf data, boolean complete) {
        this.metadata = metadata == null ? Unpooled.EMPTY_BUFFER : metadata;
        this.metadataIndex = this.metadata.readerIndex();
        this.metadataLength = metadata == null ? -1 : metadata.readableBytes();
        this.data = data == null ? Unpooled.EMPTY_BUFFER : data;
        this.dataIndex = this.data.readerIndex();
        this.dataLength = this.data.readableBytes();
        this.complete = complete;
        return this;
    }

    /** Forgets the buffers, so that a view that is used too late shows nothing. */
    void clear() {
        set(null, null, false);
    }

    /**
     * Whether it is the peer's last payload on the stream.
     *
     * @return whether the peer's direction of the stream is complete
     */
    public boolean isComplete() {
        return complete;
    }

    /**
     * Whether there is metadata. Absent metadata and empty metadata differ.
     *
     * @return whether the frame had metadata
     */
    public boolean hasMetadata() {
        return metadataLength >= 0;
    }

    /**
     * The buffer that holds the metadata, at {@link #metadataIndex}.
     *
     * @return a buffer that the caller neither changes nor releases
     */
    public ByteBuf metadata() {
        return metadata;
    }

    /**
     * Where the metadata begins.
     *
     * @return an index of {@link #metadata}
     */
    public int metadataIndex() {
        return metadataIndex;
    }

    /**
     * The length of the metadata.
     *
     * @return bytes, 0 where there is none
     */
    public int metadataLength() {
        return Math.max(metadataLength, 0);
    }

    /**
     * The buffer that holds the data, at {@link #dataIndex}.
     *
     * @return a buffer that the caller neither changes nor releases
     */
    public ByteBuf data() {
        return data;
    }

    /**
     * Where the data begins.
     *
     * @return an index of {@link #data}
     */
    public int dataIndex() {
        return dataIndex;
    }

    /**
     * The length of the data.
     *
     * @return bytes
     */
    public int dataLength() {
        return dataLength;
    }

    /**
     * Keeps the metadata beyond the listener's method, without copying it.
     *
     * @return a slice that the caller releases
     */
    public ByteBuf retainMetadata() {
        return metadata.retainedSlice(metadataIndex, metadataLength());
    }

    /**
     * Keeps the data beyond the listener's method, without copying it.
     *
     * @return a slice that the caller releases. It holds the whole read buffer in memory until then
     */
    public ByteBuf retainData() {
        return data.retainedSlice(dataIndex, dataLength);
    }

    /**
     * Copies the metadata.
     *
     * @return a new array, or {@code null} where there is no metadata
     */
    public byte[] metadataBytes() {
        return hasMetadata() ? ByteBufUtil.getBytes(metadata, metadataIndex, metadataLength,
                true) : null;
    }

    /**
     * Copies the data.
     *
     * @return a new array
     */
    public byte[] dataBytes() {
        return ByteBufUtil.getBytes(data, dataIndex, dataLength, true);
    }

    /**
     * Decodes the data as UTF-8; bytes that are none become U+FFFD.
     *
     * @return a new string
     */
    public String dataUtf8() {
        return data.toString(dataIndex, dataLength, StandardCharsets.UTF_8);
    }
}
