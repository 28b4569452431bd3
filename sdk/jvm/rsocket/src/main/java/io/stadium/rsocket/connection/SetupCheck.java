package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.FrameType;

/** Finds the part of a first frame that makes it no SETUP, for the text of the refusal. */
final class SetupCheck {
    static final String FIRST_FRAME = "the first frame must be SETUP or RESUME on stream 0";

    private SetupCheck() {}

    static String version(int major, int minor) {
        return "version " + major + "." + minor + " is not supported, 1.0 is";
    }

    /**
     * Describes what is wrong with a frame that {@link Frame#decode} did not read as a SETUP on
     * stream 0.
     */
    static String whatIsWrong(ByteBuf buffer, int index, int length) {
        if (buffer.getUnsignedByte(index + 4) >>> 2 != FrameType.SETUP) {
            return FIRST_FRAME;
        }
        int streamId = buffer.getInt(index);
        if (streamId != 0) {
            return "SETUP is on stream " + Integer.toUnsignedString(streamId)
                    + ", and belongs on 0";
        }
        int at = index + Frame.HEADER_BYTES;
        int end = index + length;
        if (end - at < 4) {
            return "SETUP: the frame ends in its version";
        }
        if (buffer.getInt(at) != 0x1_0000) {
            return version(buffer.getUnsignedShort(at), buffer.getUnsignedShort(at + 2));
        }
        at += 4;
        if (end - at < 8) {
            return "SETUP: keep-alive interval and lifetime are not two numbers of 31 bits";
        }
        int keepaliveIntervalMs = buffer.getInt(at);
        int lifetimeMs = buffer.getInt(at + 4);
        if (keepaliveIntervalMs == 0) {
            return "SETUP: the keep-alive interval must be more than 0";
        }
        if (lifetimeMs == 0) {
            return "SETUP: the lifetime must be more than 0";
        }
        if ((keepaliveIntervalMs | lifetimeMs) < 0) {
            return "SETUP: keep-alive interval and lifetime are not two numbers of 31 bits";
        }
        at += 8;
        if ((buffer.getUnsignedShort(index + 4) & FrameFlag.RESUME) != 0) {
            at = end - at < 2 ? end + 1 : at + 2 + buffer.getUnsignedShort(at);
            if (at > end) {
                return "SETUP: the frame ends in the resume token that its flag promises";
            }
        }
        at = end - at < 1 ? end + 1 : at + 1 + buffer.getUnsignedByte(at);
        if (at > end) {
            return "SETUP: the frame ends in the metadata MIME type";
        }
        at = end - at < 1 ? end + 1 : at + 1 + buffer.getUnsignedByte(at);
        if (at > end) {
            return "SETUP: the frame ends in the data MIME type";
        }
        return "SETUP: the metadata, such as authentication, is longer than the frame";
    }
}
