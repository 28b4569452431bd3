package io.stadium.api;

import io.stadium.v1.AppNamed;
import io.stadium.v1.ClickedRequest;
import io.stadium.v1.ListPushesRequest;
import io.stadium.v1.NewPushSchedule;
import io.stadium.v1.PauseScheduleRequest;
import io.stadium.v1.PushAccepted;
import io.stadium.v1.PushMethods;
import io.stadium.v1.PushNamed;
import io.stadium.v1.PushReport;
import io.stadium.v1.PushReports;
import io.stadium.v1.PushScheduleNamed;
import io.stadium.v1.PushScheduleReport;
import io.stadium.v1.PushSchedules;
import io.stadium.v1.PushTrace;
import io.stadium.v1.StadiumMethods;
import io.stadium.v1.TraceRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The pushes of an app. docs/push.md describes their life. Requests may be sent again, but for
 * {@link #sendLive}. The devices are in {@link Devices}.
 */
public final class AsyncPushes {
    private final Calls calls;
    private final String app;

    AsyncPushes(Calls calls, String app) {
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
     * Sends a push. It is on disk then.
     *
     * @param push the push; one of the same id with other content is rejected
     * @return its id
     */
    public CompletableFuture<AcceptedPush> send(NewPush push) {
        UUID id = push.id();
        return calls.call(PushMethods.SEND, push.message(app),
                receipt -> new AcceptedPush(id, receipt.getDuplicate()));
    }

    /**
     * Sends a message to devices by their client ids, or to the subscribers of a channel.
     *
     * @param push the push; where it may have happened, a second one is another push
     * @return the id by which the HTTP API reports on it
     */
    public CompletableFuture<String> sendLive(LivePush push) {
        return calls.call(StadiumMethods.PUSH, push.message(), PushAccepted::getId);
    }

    /**
     * Asks whether {@link #send} would accept a push now. Nothing is sent.
     *
     * @param push the push
     * @return when it is certain; it fails as the push would
     */
    public CompletableFuture<Void> check(NewPush push) {
        return calls.run(PushMethods.CHECK, push.message(app));
    }

    /**
     * Changes the push of the same id, which has not started, into this one.
     *
     * @param push the push
     * @return when it is done
     */
    public CompletableFuture<Void> edit(NewPush push) {
        return calls.run(PushMethods.EDIT, push.message(app));
    }

    /**
     * Ends a push: nobody else gets it.
     *
     * @param push its id
     * @return when it is done
     */
    public CompletableFuture<Void> cancel(UUID push) {
        return calls.run(PushMethods.CANCEL, named(push));
    }

    /**
     * A push, and what became of it.
     *
     * @param push its id
     * @return stage, counts and latencies
     */
    public CompletableFuture<PushReport> find(UUID push) {
        return calls.call(PushMethods.FIND, named(push));
    }

    private PushNamed named(UUID push) {
        return PushNamed.newBuilder().setApp(app).setPush(Ids.bytes(push)).build();
    }

    /**
     * The newest pushes.
     *
     * @param pushesMax 1 to 1,000
     * @return newest first
     */
    public CompletableFuture<List<PushReport>> list(int pushesMax) {
        return list(pushesMax, PushReport.getDefaultInstance());
    }

    /**
     * Pushes, a page at a time.
     *
     * @param pushesMax 1 to 1,000
     * @param before the last one of the page before
     * @return newest first
     */
    public CompletableFuture<List<PushReport>> list(int pushesMax, PushReport before) {
        Bounds.check("pushesMax", pushesMax, 1, Bounds.ITEMS_MAX);
        ListPushesRequest request = ListPushesRequest.newBuilder().setApp(app)
                .setPushesMax(pushesMax).setBeforeMs(before.getAcceptedMs())
                .setBeforePush(before.getPush().getId()).build();
        return calls.call(PushMethods.LIST, request, PushReports::getPushesList);
    }

    /**
     * The reason why a device did or did not get a push.
     *
     * @param push its id
     * @param device the device
     * @return a state, a sentence, and steps
     */
    public CompletableFuture<PushTrace> trace(UUID push, String device) {
        return calls.call(PushMethods.TRACE, traced(push, device));
    }

    /**
     * Notes that the device's user opened the push.
     *
     * @param push its id
     * @param device the device
     * @return when it is done
     */
    public CompletableFuture<Void> opened(UUID push, String device) {
        return calls.run(PushMethods.OPENED, traced(push, device));
    }

    /**
     * Notes that the device's user clicked the push, or an action of it.
     *
     * @param push its id
     * @param device the device
     * @param action at most 64 bytes; empty: none
     * @return when it is done
     */
    public CompletableFuture<Void> clicked(UUID push, String device, String action) {
        return calls.run(PushMethods.CLICKED, ClickedRequest.newBuilder().setApp(app)
                .setPush(Ids.bytes(push)).setDevice(device).setAction(action).build());
    }

    private TraceRequest traced(UUID push, String device) {
        return TraceRequest.newBuilder().setApp(app).setPush(Ids.bytes(push))
                .setDevice(device).build();
    }

    /**
     * Makes a push at each time of a cron expression, by each device's clock. The same name
     * replaces the schedule.
     *
     * @param schedule the schedule's name
     * @param cron five fields, or {@code @daily} and the like
     * @param push the push; its id is a part of the ids of those that are made
     * @return when it is done
     */
    public CompletableFuture<Void> schedule(String schedule, String cron, NewPush push) {
        return schedule(schedule, cron, push, "", Duration.ZERO);
    }

    /**
     * Makes a push at each time of a cron expression. The same name replaces the schedule.
     *
     * @param schedule the schedule's name
     * @param cron five fields, or {@code @daily} and the like
     * @param push the push; its id is a part of the ids of those that are made
     * @param zone an IANA time zone; empty: each device's own
     * @param late of the times that passed while the server was down the newest one is sent where
     *     it is not older than this
     * @return when it is done
     */
    public CompletableFuture<Void> schedule(
            String schedule, String cron, NewPush push, String zone, Duration late) {
        return calls.run(PushMethods.SCHEDULE, NewPushSchedule.newBuilder().setName(schedule)
                .setCron(cron).setZone(zone).setLateMs(Times.millis("late", late))
                .setPush(push.message(app)).build());
    }

    /**
     * Holds a schedule.
     *
     * @param schedule its name
     * @return when it is done
     */
    public CompletableFuture<Void> pause(String schedule) {
        return paused(schedule, true);
    }

    /**
     * Lets a schedule go on; what it missed is skipped.
     *
     * @param schedule its name
     * @return when it is done
     */
    public CompletableFuture<Void> resume(String schedule) {
        return paused(schedule, false);
    }

    private CompletableFuture<Void> paused(String schedule, boolean isPaused) {
        return calls.run(PushMethods.PAUSE, PauseScheduleRequest.newBuilder().setApp(app)
                .setName(schedule).setPaused(isPaused).build());
    }

    /**
     * Forgets a schedule. Pushes that it made stay.
     *
     * @param schedule its name
     * @return when it is done
     */
    public CompletableFuture<Void> unschedule(String schedule) {
        return calls.run(PushMethods.UNSCHEDULE,
                PushScheduleNamed.newBuilder().setApp(app).setName(schedule).build());
    }

    /**
     * All schedules of the app.
     *
     * @return the schedules
     */
    public CompletableFuture<List<PushScheduleReport>> schedules() {
        return calls.call(PushMethods.SCHEDULES, AppNamed.newBuilder().setApp(app).build(),
                PushSchedules::getSchedulesList);
    }
}
