// Made of AsyncPushes.java by BlockingForms: change that file.
package io.stadium.api;

import io.stadium.v1.PushReport;
import io.stadium.v1.PushScheduleReport;
import io.stadium.v1.PushTrace;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The pushes of an app. docs/push.md describes their life. Requests may be sent again, but for
 * {@link #sendLive}. The devices are in {@link Devices}.
 *
 * <p>The methods wait for their answer, and throw an
 * {@link io.stadium.rpc.RpcException} where there is none. {@link #async} has the same
 * ones with futures.
 */
public final class Pushes {
    private final AsyncPushes async;

    Pushes(AsyncPushes async) {
        this.async = async;
    }

    /**
     * The same with futures.
     *
     * @return the methods that do not wait
     */
    public AsyncPushes async() {
        return async;
    }

    /**
     * The app's name.
     *
     * @return the name
     */
    public String app() {
        return async.app();
    }

    /**
     * Sends a push. It is on disk then.
     *
     * @param push the push; one of the same id with other content is rejected
     * @return its id
     */
    public AcceptedPush send(NewPush push) {
        return waited(async.send(push));
    }

    /**
     * Sends a message to devices by their client ids, or to the subscribers of a channel.
     *
     * @param push the push; where it may have happened, a second one is another push
     * @return the id by which the HTTP API reports on it
     */
    public String sendLive(LivePush push) {
        return waited(async.sendLive(push));
    }

    /**
     * Asks whether {@link #send} would accept a push now. Nothing is sent.
     *
     * @param push the push
     */
    public void check(NewPush push) {
        waited(async.check(push));
    }

    /**
     * Changes the push of the same id, which has not started, into this one.
     *
     * @param push the push
     */
    public void edit(NewPush push) {
        waited(async.edit(push));
    }

    /**
     * Ends a push: nobody else gets it.
     *
     * @param push its id
     */
    public void cancel(UUID push) {
        waited(async.cancel(push));
    }

    /**
     * A push, and what became of it.
     *
     * @param push its id
     * @return stage, counts and latencies
     */
    public PushReport find(UUID push) {
        return waited(async.find(push));
    }

    /**
     * The newest pushes.
     *
     * @param pushesMax 1 to 1,000
     * @return newest first
     */
    public List<PushReport> list(int pushesMax) {
        return waited(async.list(pushesMax));
    }

    /**
     * Pushes, a page at a time.
     *
     * @param pushesMax 1 to 1,000
     * @param before the last one of the page before
     * @return newest first
     */
    public List<PushReport> list(int pushesMax, PushReport before) {
        return waited(async.list(pushesMax, before));
    }

    /**
     * The reason why a device did or did not get a push.
     *
     * @param push its id
     * @param device the device
     * @return a state, a sentence, and steps
     */
    public PushTrace trace(UUID push, String device) {
        return waited(async.trace(push, device));
    }

    /**
     * Notes that the device's user opened the push.
     *
     * @param push its id
     * @param device the device
     */
    public void opened(UUID push, String device) {
        waited(async.opened(push, device));
    }

    /**
     * Notes that the device's user clicked the push, or an action of it.
     *
     * @param push its id
     * @param device the device
     * @param action at most 64 bytes; empty: none
     */
    public void clicked(UUID push, String device, String action) {
        waited(async.clicked(push, device, action));
    }

    /**
     * Makes a push at each time of a cron expression, by each device's clock. The same name
     * replaces the schedule.
     *
     * @param schedule the schedule's name
     * @param cron five fields, or {@code @daily} and the like
     * @param push the push; its id is a part of the ids of those that are made
     */
    public void schedule(String schedule, String cron, NewPush push) {
        waited(async.schedule(schedule, cron, push));
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
     */
    public void schedule(
            String schedule, String cron, NewPush push, String zone, Duration late) {
        waited(async.schedule(schedule, cron, push, zone, late));
    }

    /**
     * Holds a schedule.
     *
     * @param schedule its name
     */
    public void pause(String schedule) {
        waited(async.pause(schedule));
    }

    /**
     * Lets a schedule go on; what it missed is skipped.
     *
     * @param schedule its name
     */
    public void resume(String schedule) {
        waited(async.resume(schedule));
    }

    /**
     * Forgets a schedule. Pushes that it made stay.
     *
     * @param schedule its name
     */
    public void unschedule(String schedule) {
        waited(async.unschedule(schedule));
    }

    /**
     * All schedules of the app.
     *
     * @return the schedules
     */
    public List<PushScheduleReport> schedules() {
        return waited(async.schedules());
    }

    private <T> T waited(CompletableFuture<T> answer) {
        return async.calls().client().await(answer);
    }
}
