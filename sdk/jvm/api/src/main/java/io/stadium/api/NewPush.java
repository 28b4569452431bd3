package io.stadium.api;

import com.google.protobuf.ByteString;
import io.stadium.v1.Notification;
import io.stadium.v1.PushCap;
import io.stadium.v1.PushOptions;
import io.stadium.v1.QuietHours;
import io.stadium.v1.RawMessage;
import io.stadium.v1.UserProperty;
import io.stadium.v1.WordsVariant;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.UUID;
import java.util.function.UnaryOperator;

/**
 * A push, such as {@code NewPush.toDevice("phone-7").title("Doors open")}.
 *
 * <p>It has an id from the beginning: the same object sent again is the same push. Instances are
 * immutable. docs/push.md describes the options.
 */
public final class NewPush {
    private final io.stadium.v1.NewPush message;

    private NewPush(io.stadium.v1.NewPush.Builder message) {
        this.message = message.build();
    }

    private static io.stadium.v1.NewPush.Builder builder() {
        return io.stadium.v1.NewPush.newBuilder().setId(Ids.bytes(UUID.randomUUID()));
    }

    /**
     * For one device, opted in or not.
     *
     * @param device its id within the app
     * @return the push
     */
    public static NewPush toDevice(String device) {
        return new NewPush(builder().setDevice(device));
    }

    /**
     * For a saved audience, as it is when the push starts.
     *
     * @param audience its name
     * @return the push
     */
    public static NewPush toSaved(String audience) {
        return new NewPush(builder().setSaved(audience));
    }

    /**
     * For the devices that a selector selects.
     *
     * @param selector the selector
     * @return the push
     */
    public static NewPush to(Selector selector) {
        return new NewPush(builder().setSelector(selector.json()));
    }

    /**
     * For the devices of a user.
     *
     * @param user the named user
     * @return the push
     */
    public static NewPush toUser(String user) {
        return to(Selector.user(user));
    }

    /**
     * For all devices that want pushes.
     *
     * @return the push
     */
    public static NewPush toAll() {
        return to(Selector.all());
    }

    /**
     * Sets the id.
     *
     * @param id the id; default a random one
     * @return another push
     */
    public NewPush id(UUID id) {
        return with(push -> push.setId(Ids.bytes(id)));
    }

    /**
     * Sets the title of a notification.
     *
     * @param text a template
     * @return another push with the same id
     */
    public NewPush title(String text) {
        return words(words -> words.setTitle(text));
    }

    /**
     * Sets the body of a notification.
     *
     * @param text a template
     * @return another push with the same id
     */
    public NewPush body(String text) {
        return words(words -> words.setBody(text));
    }

    /**
     * Sets the data of a notification, for the application.
     *
     * @param json one JSON value
     * @return another push with the same id
     */
    public NewPush data(String json) {
        return words(words -> words.setData(json));
    }

    private NewPush words(UnaryOperator<io.stadium.v1.Words.Builder> change) {
        return notification(notification -> notification.setWords(
                change.apply(notification.getWords().toBuilder())));
    }

    /**
     * Adds other texts for the devices of a platform; they go before those for a language.
     *
     * @param platform such as {@code ios}
     * @param words texts that are not set are as for everybody
     * @return another push with the same id
     */
    public NewPush forPlatform(String platform, Words words) {
        return notification(notification -> notification.addPlatforms(variant(platform, words)));
    }

    /**
     * Adds other texts for the devices of a language.
     *
     * @param language such as {@code de}, which is also for {@code de-AT}; the longest one wins
     * @param words texts that are not set are as for everybody
     * @return another push with the same id
     */
    public NewPush forLanguage(String language, Words words) {
        return notification(notification -> notification.addLanguages(variant(language, words)));
    }

    private static WordsVariant variant(String of, Words words) {
        return WordsVariant.newBuilder().setOf(of).setWords(words.message()).build();
    }

    private NewPush notification(UnaryOperator<Notification.Builder> change) {
        if (message.hasMessage()) {
            throw both();
        }
        return with(push -> push.setNotification(
                change.apply(push.getNotification().toBuilder())));
    }

    /**
     * Sets bytes that pass through as they are, instead of a notification.
     *
     * @param payload the bytes
     * @param contentType the MIME type, which MQTT 5 devices see; empty: none
     * @return another push with the same id
     */
    public NewPush payload(byte[] payload, String contentType) {
        return raw(raw -> raw.setPayload(ByteString.copyFrom(payload)).setContentType(contentType));
    }

    /**
     * Adds a property to a payload, which MQTT 5 devices see.
     *
     * @param name the name
     * @param value the value
     * @return another push with the same id
     */
    public NewPush userProperty(String name, String value) {
        return raw(raw -> raw.addUserProperties(
                UserProperty.newBuilder().setName(name).setValue(value)));
    }

    private NewPush raw(UnaryOperator<RawMessage.Builder> change) {
        if (message.hasNotification()) {
            throw both();
        }
        return with(push -> push.setMessage(change.apply(push.getMessage().toBuilder())));
    }

    private static IllegalArgumentException both() {
        return new IllegalArgumentException("a push is a notification or a payload, not both");
    }

    /**
     * Sets how long after its start a device still gets it.
     *
     * @param expiry from the start; default as the app's settings say
     * @return another push with the same id
     */
    public NewPush expiry(Duration expiry) {
        return options(options -> options.setExpiryMs(Times.millis("expiry", expiry)));
    }

    /**
     * Sets the priority.
     *
     * @param priority 0 to 9; default 4
     * @return another push with the same id
     */
    public NewPush priority(int priority) {
        Bounds.check("priority", priority, 0, 9);
        return options(options -> options.setPriority(priority));
    }

    /**
     * A newer push with the same key replaces an older one that a device has not received.
     *
     * @param key the key; default none
     * @return another push with the same id
     */
    public NewPush collapseKey(String key) {
        return options(options -> options.setCollapseKey(key));
    }

    /**
     * Sets the pace in devices. It replaces {@link #over}.
     *
     * @param devices devices a second, at least 1; default as fast as it can
     * @return another push with the same id
     */
    public NewPush perSecond(int devices) {
        Bounds.check("perSecond", devices, 1, Integer.MAX_VALUE);
        return options(options -> options.setPerSecond(devices));
    }

    /**
     * Sends it evenly over a time. It replaces {@link #perSecond}.
     *
     * @param time the time; default as fast as it can
     * @return another push with the same id
     */
    public NewPush over(Duration time) {
        return options(options -> options.setOverMs(Times.millis("over", time)));
    }

    /**
     * Leaves devices out that had so many pushes within a time.
     *
     * @param pushes how many, at least 1
     * @param within the time
     * @return another push with the same id
     */
    public NewPush cap(int pushes, Duration within) {
        Bounds.check("pushes", pushes, 1, Integer.MAX_VALUE);
        return options(options -> options.setCap(PushCap.newBuilder()
                .setPushes(pushes).setWithinMs(Times.millis("within", within))));
    }

    /**
     * Sets what becomes of devices in their quiet hours.
     *
     * @param quietHours default {@code QUIET_HOURS_WAIT}
     * @return another push with the same id
     */
    public NewPush quietHours(QuietHours quietHours) {
        return options(options -> options.setQuietHours(quietHours));
    }

    /**
     * At most once (QoS 0) instead of at least once (QoS 1).
     *
     * @return another push with the same id
     */
    public NewPush atMostOnce() {
        return options(options -> options.setAtMostOnce(true));
    }

    /**
     * Leaves a part of the audience out on purpose.
     *
     * @param percent 0 to 90
     * @return another push with the same id
     */
    public NewPush holdout(int percent) {
        Bounds.check("holdout", percent, 0, 90);
        return options(options -> options.setHoldoutPercent(percent));
    }

    private NewPush options(UnaryOperator<PushOptions.Builder> change) {
        return with(push -> push.setOptions(change.apply(push.getOptions().toBuilder())));
    }

    /**
     * Sets when it starts. It replaces {@link #atLocal}.
     *
     * @param moment not before 1970; default at once
     * @return another push with the same id
     */
    public NewPush at(Instant moment) {
        return with(push -> push.setAtMs(Times.millis("at", moment)));
    }

    /**
     * Starts it when the clock in each device's time zone shows a time. It replaces {@link #at}.
     *
     * @param time to the second
     * @return another push with the same id
     */
    public NewPush atLocal(LocalDateTime time) {
        return with(push -> push.setLocalS(time.toEpochSecond(ZoneOffset.UTC)));
    }

    private NewPush with(UnaryOperator<io.stadium.v1.NewPush.Builder> change) {
        return new NewPush(change.apply(message.toBuilder()));
    }

    /**
     * The id.
     *
     * @return the same in all pushes that were made of one
     */
    public UUID id() {
        return Ids.of(message.getId());
    }

    /** The message of the contract. */
    io.stadium.v1.NewPush message(String app) {
        if (message.getContentCase() == io.stadium.v1.NewPush.ContentCase.CONTENT_NOT_SET) {
            throw new IllegalArgumentException("a push has a title, a body, data or a payload");
        }
        return message.toBuilder().setApp(app).build();
    }
}
