package io.stadium.examples.geo;

import geo.v1.Circle;
import geo.v1.Device;
import geo.v1.GeoEvent;
import geo.v1.GeoMethods;
import geo.v1.StorageResponse;
import geo.v1.WatchRequest;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.client.CallOptions;
import io.stadium.rpc.client.ClientBuilder;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.client.RpcStream;
import io.stadium.rpc.registry.Registry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;

/**
 * Stores random events and prints the rate, or stores one event, asks, or watches.
 *
 * <p>Calls carry their device's id as the affinity key, so that with several instances one of them
 * knows all about a device. Answers go to standard output; a call that was not answered OK makes
 * the exit code 1.
 */
public final class GeoClient {
    /** A watch is given up after this time, which is the longest that a server allows. */
    private static final Duration WATCH_TIME = Duration.ofMinutes(10);

    /** Events that the service may send ahead of the reader. */
    private static final int NEAR_CREDIT = 256;

    private GeoClient() {}

    /** Does what the flags ask for. */
    public static void main(String[] arguments) throws InterruptedException {
        int code = 1;
        try {
            code = run(new Flags(arguments,
                    Set.of("--address", "--etcd", "--zookeeper", "--deadline", "--events",
                            "--devices", "--in-flight", "--device", "--lat", "--lon", "--last",
                            "--near"),
                    Set.of("--watch")));
        } catch (Rejected e) {
            System.err.println("geo-client: rejected: " + e.reason() + " (" + e.code() + ")");
        } catch (RpcException | IllegalArgumentException e) {
            System.err.println("geo-client: " + e.getMessage());
        }
        System.exit(code);
    }

    private static int run(Flags flags) throws InterruptedException {
        Duration deadline = Duration.ofMillis(flags.number("--deadline", 1, 1_000));
        // A program that has just begun knows no instance: its call waits for the registry.
        ClientBuilder builder = RpcClient.builder()
                .deadline(deadline)
                .unreachableGrace(deadline);
        Optional<Registry> registry = flags.registry();
        registry.ifPresentOrElse(builder::discovery,
                () -> builder.instances(flags.text("--address", Flags.ADDRESS).split(",")));
        try (RpcClient client = builder.start()) {
            return ask(client, flags);
        } finally {
            registry.ifPresent(Registry::close);
        }
    }

    private static int ask(RpcClient client, Flags flags) throws InterruptedException {
        if (flags.find("--device").isPresent()) {
            store(client, flags);
        } else if (flags.find("--last").isPresent()) {
            String device = flags.text("--last", "");
            Device asked = Device.newBuilder().setDeviceId(device).build();
            print(client.callBlocking(GeoMethods.LAST, asked, about(device)));
        } else if (flags.find("--near").isPresent()) {
            near(client, flags.text("--near", "").split(","));
        } else if (flags.find("--watch").isPresent()) {
            WatchRequest all = WatchRequest.newBuilder().setWithLast(true).build();
            CallOptions forLong = CallOptions.DEFAULT.deadline(WATCH_TIME);
            try (RpcStream<GeoEvent> events = client.stream(GeoMethods.WATCH, all, forLong)) {
                events.forEachRemaining(GeoClient::print);
            }
        } else {
            return new Storm(client, flags.number("--events", 0, 100_000),
                    flags.number("--devices", 1, 1_000), flags.number("--in-flight", 1, 64)).run();
        }
        return 0;
    }

    private static void store(RpcClient client, Flags flags) {
        Optional<String> latitude = flags.find("--lat");
        Optional<String> longitude = flags.find("--lon");
        if (latitude.isEmpty() || longitude.isEmpty()) {
            throw new IllegalArgumentException("--device needs --lat and --lon");
        }
        GeoEvent event = GeoEvent.newBuilder()
                .setDeviceId(flags.text("--device", ""))
                .setTimestampMs(System.currentTimeMillis())
                .setLatitude(Flags.decimal(latitude.get()))
                .setLongitude(Flags.decimal(longitude.get()))
                .setSignificance(GeoEvent.Significance.SIGNIFICANT)
                .build();
        StorageResponse answer =
                client.callBlocking(GeoMethods.STORE, event, about(event.getDeviceId()));
        String code = answer.getCode() == StorageResponse.Code.OK ? "Ok" : "Error";
        System.out.println((code + " " + answer.getMessage()).strip());
    }

    private static void near(RpcClient client, String[] parts) {
        if (parts.length != 3) {
            throw new IllegalArgumentException(
                    "--near takes a latitude, a longitude and metres: 37.98,23.73,5000");
        }
        Circle circle = Circle.newBuilder()
                .setLatitude(Flags.decimal(parts[0]))
                .setLongitude(Flags.decimal(parts[1]))
                .setRadiusM(Flags.decimal(parts[2]))
                .build();
        CallOptions options = CallOptions.DEFAULT.credit(NEAR_CREDIT);
        try (RpcStream<GeoEvent> events = client.stream(GeoMethods.NEAR, circle, options)) {
            events.forEachRemaining(GeoClient::print);
        }
    }

    /** Calls about a device go where all calls about it go. */
    static CallOptions about(String device) {
        return CallOptions.DEFAULT.key(device.getBytes(StandardCharsets.UTF_8));
    }

    private static void print(GeoEvent event) {
        boolean isMinor = event.getSignificance() == GeoEvent.Significance.MINOR;
        System.out.println(event.getDeviceId() + " " + Flags.shown(event.getLatitude()) + " "
                + Flags.shown(event.getLongitude()) + " " + event.getTimestampMs() + " "
                + (isMinor ? "Minor" : "Significant"));
    }
}
