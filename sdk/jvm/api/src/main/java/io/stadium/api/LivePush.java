package io.stadium.api;

import com.google.protobuf.ByteString;
import io.stadium.v1.PushRequest;
import io.stadium.v1.UserProperty;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * A message to devices by their MQTT client ids, or to subscribers of a channel. Devices need not
 * be registered. Instances are immutable.
 */
public final class LivePush {
    private final PushRequest message;

    private LivePush(PushRequest.Builder message) {
        this.message = message.build();
    }

    /**
     * For the inbox of one device.
     *
     * @param clientId {@code APP/DEVICE}, or {@code DEVICE} of the app {@code default}
     * @param message the bytes that it gets
     * @return the push
     */
    public static LivePush toDevice(String clientId, byte[] message) {
        return new LivePush(of(message).setDevice(clientId));
    }

    /**
     * For the inboxes of several devices, each once.
     *
     * @param clientIds {@code APP/DEVICE}, or {@code DEVICE} of the app {@code default}
     * @param message the bytes that they get
     * @return the push
     */
    public static LivePush toDevices(List<String> clientIds, byte[] message) {
        return new LivePush(of(message).setDevices(
                io.stadium.v1.Devices.newBuilder().addAllIds(clientIds)));
    }

    /**
     * For the present subscribers of a channel.
     *
     * @param channel its name
     * @param message the bytes that they get
     * @return the push
     */
    public static LivePush toChannel(String channel, byte[] message) {
        return new LivePush(of(message).setChannel(channel));
    }

    /**
     * For the present subscribers of a channel.
     *
     * @param channel its name
     * @param message a text, which they get in UTF-8
     * @return the push
     */
    public static LivePush toChannel(String channel, String message) {
        return toChannel(channel, message.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * For the present subscribers of the channel {@code everybody}.
     *
     * @param message the bytes that they get
     * @return the push
     */
    public static LivePush toEverybody(byte[] message) {
        return new LivePush(of(message).setEverybody(true));
    }

    private static PushRequest.Builder of(byte[] message) {
        return PushRequest.newBuilder().setMessage(ByteString.copyFrom(message));
    }

    /**
     * Sets how long a device that is away may still get it.
     *
     * @param expiry to the second, rounded up; zero, the default: without an end
     * @return another push
     */
    public LivePush expiry(Duration expiry) {
        long seconds = (Times.millis("expiry", expiry) + 999) / 1_000;
        if (seconds > 0xFFFF_FFFFL) {
            throw new IllegalArgumentException("expiry is at most 2^32 - 1 s, not " + expiry);
        }
        return with(push -> push.setExpiryS((int) seconds));
    }

    /**
     * Sets the MIME type, which MQTT 5 devices see.
     *
     * @param contentType at most 256 bytes
     * @return another push
     */
    public LivePush contentType(String contentType) {
        return with(push -> push.setContentType(contentType));
    }

    /**
     * Adds a property, which MQTT 5 devices see.
     *
     * @param name the name
     * @param value the value
     * @return another push
     */
    public LivePush userProperty(String name, String value) {
        return with(push -> push.addUserProperties(
                UserProperty.newBuilder().setName(name).setValue(value)));
    }

    /**
     * At most once (QoS 0) instead of at least once (QoS 1).
     *
     * @return another push
     */
    public LivePush atMostOnce() {
        return with(push -> push.setAtMostOnce(true));
    }

    private LivePush with(UnaryOperator<PushRequest.Builder> change) {
        return new LivePush(change.apply(message.toBuilder()));
    }

    PushRequest message() {
        return message;
    }
}
