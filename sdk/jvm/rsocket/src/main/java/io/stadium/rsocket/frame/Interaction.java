package io.stadium.rsocket.frame;

/** The four interactions (Request Types). */
public enum Interaction {
    /** One request, one response. */
    REQUEST_RESPONSE(FrameType.REQUEST_RESPONSE),

    /** One request, no response and no stream. */
    FIRE_AND_FORGET(FrameType.REQUEST_FNF),

    /** One request, any number of payloads as the requester grants credit. */
    REQUEST_STREAM(FrameType.REQUEST_STREAM),

    /** Payloads both ways, each side granting credit to the other. */
    REQUEST_CHANNEL(FrameType.REQUEST_CHANNEL);

    private final int frameType;

    Interaction(int frameType) {
        this.frameType = frameType;
    }

    /**
     * The type of the frame that begins this interaction.
     *
     * @return one of {@link FrameType}
     */
    public int frameType() {
        return frameType;
    }

    /**
     * Whether its request has an initial request n.
     *
     * @return whether it is a stream or a channel
     */
    public boolean hasInitialRequestN() {
        return this == REQUEST_STREAM || this == REQUEST_CHANNEL;
    }
}
