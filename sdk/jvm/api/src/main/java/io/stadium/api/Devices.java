// Made of AsyncDevices.java by BlockingForms: change that file.
package io.stadium.api;

import io.stadium.v1.AudiencePreview;
import io.stadium.v1.DeviceReport;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The registered devices of an app, and the audiences that selectors make of them.
 * docs/audiences.md has the fields. Every request may be sent again.
 *
 * <p>The methods wait for their answer, and throw an
 * {@link io.stadium.rpc.RpcException} where there is none. {@link #async} has the same
 * ones with futures.
 */
public final class Devices {
    private final AsyncDevices async;

    Devices(AsyncDevices async) {
        this.async = async;
    }

    /**
     * The same with futures.
     *
     * @return the methods that do not wait
     */
    public AsyncDevices async() {
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
     * Registers a device that is new, or changes what is known of it.
     *
     * @param device its id
     * @param json the fields that change; empty: none
     * @return whether it is new
     */
    public boolean change(String device, String json) {
        return waited(async.change(device, json));
    }

    /**
     * Registers or changes devices, 1,000 in one request, the requests at once. Where one of the
     * requests fails, the others may have happened; all of it may be sent again.
     *
     * @param changes at most 100,000
     * @return for each, in their order, whether it is new
     */
    public List<Outcome<Boolean>> changeAll(List<DeviceChange> changes) {
        return waited(async.changeAll(changes));
    }

    /**
     * Forgets a device with everything that it is owed, and cuts its connection. Takes an admin's
     * key.
     *
     * @param device its id
     * @return whether it was there
     */
    public boolean remove(String device) {
        return waited(async.remove(device));
    }

    /**
     * Forgets devices with everything that they are owed, and cuts their connections; 1,000 in one
     * request, the requests at once. Takes an admin's key.
     *
     * @param devices at most 100,000
     * @return how many there were
     */
    public long removeAll(List<String> devices) {
        return waited(async.removeAll(devices));
    }

    /**
     * A device, its connection, what it is owed, and its newest pushes.
     *
     * @param device its id
     * @return the report; {@code getDevice()} has the fields as JSON
     */
    public DeviceReport find(String device) {
        return waited(async.find(device));
    }

    /**
     * Counts the devices that a selector reaches, and those that each clause keeps out.
     *
     * @param selector the selector
     * @param sampleMax ids to show, 0 to 100
     * @return the counts
     */
    public AudiencePreview preview(Selector selector, int sampleMax) {
        return waited(async.preview(selector, sampleMax));
    }

    /**
     * Gives a device a random secret of 256 bits, with which it connects from now on. The server
     * keeps its SHA-256. Takes an admin's key.
     *
     * @param device its id
     * @return the secret
     */
    public String admit(String device) {
        return waited(async.admit(device));
    }

    /**
     * Gives a device a secret, with which it connects from now on. The server keeps its SHA-256.
     * Takes an admin's key.
     *
     * @param device its id
     * @param secret the secret
     */
    public void admit(String device, String secret) {
        waited(async.admit(device, secret));
    }

    /**
     * Takes a device's credential away. Takes an admin's key.
     *
     * @param device its id
     */
    public void removeCredential(String device) {
        waited(async.removeCredential(device));
    }

    /**
     * Keeps a device out, and cuts its connection. Takes an admin's key.
     *
     * @param device its id
     */
    public void revoke(String device) {
        waited(async.revoke(device));
    }

    /**
     * Lets a revoked device in again. Takes an admin's key.
     *
     * @param device its id
     */
    public void readmit(String device) {
        waited(async.readmit(device));
    }

    private <T> T waited(CompletableFuture<T> answer) {
        return async.calls().client().await(answer);
    }
}
