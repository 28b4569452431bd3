package io.stadium.api;

import java.util.Objects;

/**
 * A change of one device.
 *
 * @param device its id within the app
 * @param json the fields that change, as docs/audiences.md has them, such as
 *     {@code {"platform": "ios", "tags": {"add": ["vip"]}}}; empty changes nothing, and registers
 *     a device that is new
 */
public record DeviceChange(String device, String json) {
    /**
     * Checks that both are there.
     *
     * @param device its id within the app
     * @param json the fields that change; may be empty
     */
    public DeviceChange {
        Objects.requireNonNull(device, "device");
        Objects.requireNonNull(json, "json");
    }

    io.stadium.v1.DeviceChange message() {
        return io.stadium.v1.DeviceChange.newBuilder().setDevice(device).setChanges(json).build();
    }
}
