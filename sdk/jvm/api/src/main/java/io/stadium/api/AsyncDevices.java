package io.stadium.api;

import com.google.protobuf.ByteString;
import io.stadium.v1.AdmitRequest;
import io.stadium.v1.AudiencePreview;
import io.stadium.v1.ChangeDevicesRequest;
import io.stadium.v1.DeviceNamed;
import io.stadium.v1.DeviceOutcome;
import io.stadium.v1.DeviceReport;
import io.stadium.v1.DevicesNamed;
import io.stadium.v1.PreviewRequest;
import io.stadium.v1.PushMethods;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The registered devices of an app, and the audiences that selectors make of them.
 * docs/audiences.md has the fields. Every request may be sent again.
 */
public final class AsyncDevices {
    /** Devices that one call may name: a hundred requests, which are under way at once. */
    private static final int DEVICES_MAX = 100_000;

    private static final int SECRET_BYTES = 32;

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Calls calls;
    private final String app;

    AsyncDevices(Calls calls, String app) {
        this.calls = calls;
        this.app = Objects.requireNonNull(app, "app");
    }

    Calls calls() {
        return calls;
    }

    /**
     * The app's name.
     *
     * @return the name
     */
    public String app() {
        return app;
    }

    /**
     * Registers a device that is new, or changes what is known of it.
     *
     * @param device its id
     * @param json the fields that change; empty: none
     * @return whether it is new
     */
    public CompletableFuture<Boolean> change(String device, String json) {
        ChangeDevicesRequest request = ChangeDevicesRequest.newBuilder().setApp(app)
                .addDevices(new DeviceChange(device, json).message()).build();
        return calls.call(PushMethods.CHANGE_DEVICES, request,
                answer -> changed(Outcome.only(answer.getOutcomesList())).get());
    }

    /**
     * Registers or changes devices, 1,000 in one request, the requests at once. Where one of the
     * requests fails, the others may have happened; all of it may be sent again.
     *
     * @param changes at most 100,000
     * @return for each, in their order, whether it is new
     */
    public CompletableFuture<List<Outcome<Boolean>>> changeAll(List<DeviceChange> changes) {
        List<CompletableFuture<List<Outcome<Boolean>>>> sent = inParts(changes, part -> {
            ChangeDevicesRequest.Builder request = ChangeDevicesRequest.newBuilder().setApp(app);
            part.forEach(change -> request.addDevices(change.message()));
            return calls.call(PushMethods.CHANGE_DEVICES, request.build(),
                    answer -> Outcome.each(part, answer.getOutcomesList(),
                            (change, outcome) -> changed(outcome)));
        });
        return Calls.all(sent, outcomes -> outcomes);
    }

    private static Outcome<Boolean> changed(DeviceOutcome outcome) {
        if (!outcome.hasRefused()) {
            return Outcome.of(outcome.getRegistered());
        }
        io.stadium.v1.DeviceNotChanged refused = outcome.getRefused();
        return Outcome.failed(Outcome.refusal(refused.getCode(), refused.getReason(),
                refused.getRetryAfterMs(), refused.getMayHaveHappened()));
    }

    /**
     * Forgets a device with everything that it is owed, and cuts its connection. Takes an admin's
     * key.
     *
     * @param device its id
     * @return whether it was there
     */
    public CompletableFuture<Boolean> remove(String device) {
        return calls.call(PushMethods.REMOVE_DEVICES, named(List.of(device)),
                answer -> answer.getDevices() > 0);
    }

    /**
     * Forgets devices with everything that they are owed, and cuts their connections; 1,000 in one
     * request, the requests at once. Takes an admin's key.
     *
     * @param devices at most 100,000
     * @return how many there were
     */
    public CompletableFuture<Long> removeAll(List<String> devices) {
        List<CompletableFuture<List<Long>>> sent = inParts(devices, part -> calls.call(
                PushMethods.REMOVE_DEVICES, named(part), answer -> List.of(answer.getDevices())));
        return Calls.all(sent, counts -> counts.stream().reduce(0L, Long::sum));
    }

    private DevicesNamed named(List<String> devices) {
        return DevicesNamed.newBuilder().setApp(app).addAllDevices(devices).build();
    }

    private static <Q, A> List<CompletableFuture<List<A>>> inParts(
            List<Q> items, Function<List<Q>, CompletableFuture<List<A>>> send) {
        Bounds.check("the number of devices", items.size(), 0, DEVICES_MAX);
        List<Q> own = List.copyOf(items);
        List<CompletableFuture<List<A>>> sent = new ArrayList<>();
        for (int at = 0; at < own.size(); at += Bounds.ITEMS_MAX) {
            sent.add(send.apply(own.subList(at, Math.min(own.size(), at + Bounds.ITEMS_MAX))));
        }
        return sent;
    }

    /**
     * A device, its connection, what it is owed, and its newest pushes.
     *
     * @param device its id
     * @return the report; {@code getDevice()} has the fields as JSON
     */
    public CompletableFuture<DeviceReport> find(String device) {
        return calls.call(PushMethods.FIND_DEVICE,
                DeviceNamed.newBuilder().setApp(app).setDevice(device).build());
    }

    /**
     * Counts the devices that a selector reaches, and those that each clause keeps out.
     *
     * @param selector the selector
     * @param sampleMax ids to show, 0 to 100
     * @return the counts
     */
    public CompletableFuture<AudiencePreview> preview(Selector selector, int sampleMax) {
        Bounds.check("sampleMax", sampleMax, 0, 100);
        return calls.call(PushMethods.PREVIEW, PreviewRequest.newBuilder().setApp(app)
                .setSelector(selector.json()).setSampleMax(sampleMax).build());
    }

    /**
     * Gives a device a random secret of 256 bits, with which it connects from now on. The server
     * keeps its SHA-256. Takes an admin's key.
     *
     * @param device its id
     * @return the secret
     */
    public CompletableFuture<String> admit(String device) {
        byte[] random = new byte[SECRET_BYTES];
        RANDOM.nextBytes(random);
        String secret = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
        return calls.call(PushMethods.ADMIT, admission(device, secret), nothing -> secret);
    }

    /**
     * Gives a device a secret, with which it connects from now on. The server keeps its SHA-256.
     * Takes an admin's key.
     *
     * @param device its id
     * @param secret the secret
     * @return when it is done
     */
    public CompletableFuture<Void> admit(String device, String secret) {
        return calls.run(PushMethods.ADMIT, admission(device, secret));
    }

    private AdmitRequest admission(String device, String secret) {
        byte[] digest = Hashes.sha256(secret.getBytes(StandardCharsets.UTF_8));
        return AdmitRequest.newBuilder().setApp(app).setDevice(device)
                .setSecretSha256(ByteString.copyFrom(digest)).build();
    }

    /**
     * Takes a device's credential away. Takes an admin's key.
     *
     * @param device its id
     * @return when it is done
     */
    public CompletableFuture<Void> removeCredential(String device) {
        return calls.run(PushMethods.ADMIT, AdmitRequest.newBuilder().setApp(app)
                .setDevice(device).setNoCredential(true).build());
    }

    /**
     * Keeps a device out, and cuts its connection. Takes an admin's key.
     *
     * @param device its id
     * @return when it is done
     */
    public CompletableFuture<Void> revoke(String device) {
        return calls.run(PushMethods.ADMIT, AdmitRequest.newBuilder().setApp(app)
                .setDevice(device).setRevoked(true).build());
    }

    /**
     * Lets a revoked device in again. Takes an admin's key.
     *
     * @param device its id
     * @return when it is done
     */
    public CompletableFuture<Void> readmit(String device) {
        return calls.run(PushMethods.ADMIT, AdmitRequest.newBuilder().setApp(app)
                .setDevice(device).setRevoked(false).build());
    }
}
