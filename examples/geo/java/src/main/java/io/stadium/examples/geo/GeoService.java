package io.stadium.examples.geo;

import geo.v1.Circle;
import geo.v1.Device;
import geo.v1.GeoEvent;
import geo.v1.GeoMethods;
import geo.v1.StorageResponse;
import geo.v1.WatchRequest;
import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.server.Call;
import io.stadium.rpc.server.Output;
import io.stadium.rpc.server.Refusal;
import io.stadium.rpc.server.RpcServer;
import io.stadium.rpc.server.RpcServerBuilder;
import io.stadium.rpc.server.RpcServers;
import io.stadium.rpc.server.Service;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Keeps the last location of every device, until SIGTERM asks it to leave.
 *
 * <p>{@code Store} and {@code Last} are inline: a look-up in memory. {@code Near} and {@code Watch}
 * are streams, sent as fast as their callers give credit.
 */
public final class GeoService {
    private static final int DEVICE_ID_BYTES_MAX = 128;

    /** The most that a device's clock may be ahead. An event further ahead would hide all later ones. */
    private static final Duration AHEAD_MAX = Duration.ofSeconds(60);

    /** When a full store is worth asking again: room comes only by an operator's hand. */
    private static final Duration FULL_RETRY_AFTER = Duration.ofSeconds(60);

    /** Events of a watch that are read at once: one behind others was read that much earlier. */
    private static final int WATCHED_AT_ONCE = 64;

    private final Places places;
    private final Duration work;

    private GeoService(Places places, Duration work) {
        this.places = places;
        this.work = work;
    }

    private Service service() {
        return Service.builder(GeoMethods.NAME, GeoMethods.VERSION)
                .descriptors(GeoEvent.getDescriptor().getFile())
                .inline(GeoMethods.STORE, this::store)
                .inline(GeoMethods.LAST, this::last)
                .streaming(GeoMethods.NEAR, this::near)
                .streaming(GeoMethods.WATCH, this::watch)
                .build();
    }

    private StorageResponse store(Call call, GeoEvent event) throws Refusal {
        toil();
        Position position = Position.of(event.getLatitude(), event.getLongitude());
        int length = event.getDeviceId().getBytes(StandardCharsets.UTF_8).length;
        if (length < 1 || length > DEVICE_ID_BYTES_MAX) {
            throw Refusal.rejected("GEO-003", "device id has " + length + " bytes, not 1 to 128");
        }
        long latestMs = System.currentTimeMillis() + AHEAD_MAX.toMillis();
        if (Long.compareUnsigned(event.getTimestampMs(), latestMs) > 0) {
            throw Refusal.rejected("GEO-006", "timestamp "
                    + Long.toUnsignedString(event.getTimestampMs()) + " ms is more than 60 s ahead");
        }
        GeoEvent known = event.getSignificance() == GeoEvent.Significance.UNRECOGNIZED
                ? event.toBuilder().setSignificance(GeoEvent.Significance.MINOR).build() : event;
        return switch (places.store(known, position)) {
            case KEPT -> StorageResponse.getDefaultInstance();
            case OLDER ->
                StorageResponse.newBuilder().setMessage("a later location is known").build();
            case FULL -> throw Refusal.busy(FULL_RETRY_AFTER, "no room for another device");
        };
    }

    private GeoEvent last(Call call, Device device) throws Refusal {
        GeoEvent event = places.last(device.getDeviceId());
        if (event == null) {
            throw Refusal.rejected(
                    "GEO-004", "device \"" + device.getDeviceId() + "\" was never seen here");
        }
        return event;
    }

    private void near(Call call, Circle circle, Output<GeoEvent> events) throws Exception {
        Position centre = Position.of(circle.getLatitude(), circle.getLongitude());
        double radiusM = circle.getRadiusM();
        if (!Double.isFinite(radiusM) || radiusM <= 0) {
            throw Refusal.rejected(
                    "GEO-005", "radius " + Flags.shown(radiusM) + " m is not more than 0");
        }
        Iterator<GeoEvent> found = places.near(centre, radiusM).iterator();
        while (found.hasNext()) {
            events.send(found.next());
        }
    }

    private void watch(Call call, WatchRequest request, Output<GeoEvent> events) throws Exception {
        call.onCancel(places::wake);
        long seen = request.getWithLast() ? 0 : places.lastChange();
        while (true) {
            List<Places.Change> newer = places.newer(seen, WATCHED_AT_ONCE, call::isCancelled);
            if (newer.isEmpty()) {
                return;
            }
            for (Places.Change change : newer) {
                events.send(change.event());
                seen = change.number();
            }
        }
    }

    /** Works for that long, as a computation would. */
    private void toil() {
        if (work.isZero()) {
            return;
        }
        long until = System.nanoTime() + work.toNanos();
        while (System.nanoTime() - until < 0) {
            Thread.onSpinWait();
        }
    }

    /** Serves until SIGTERM or Ctrl-C. */
    public static void main(String[] arguments) throws InterruptedException {
        try {
            run(new Flags(arguments, Set.of("--listen", "--loops", "--devices-max", "--etcd",
                    "--zookeeper", "--advertise", "--zone", "--grace", "--work"), Set.of()));
        } catch (IllegalArgumentException | IOException e) {
            System.err.println("geo-service: " + e.getMessage());
            System.exit(1);
        }
    }

    private static void run(Flags flags) throws IOException, InterruptedException {
        Places places = new Places(flags.number("--devices-max", 1, 1_000_000));
        Duration work = Duration.ofNanos(flags.number("--work", 0, 0) * 1_000L);
        RpcServerBuilder builder = RpcServer.builder()
                .service(new GeoService(places, work).service())
                .listen(Flags.address(flags.text("--listen", Flags.ADDRESS)))
                .loops(flags.number("--loops", 1, 1))
                .quiesceWithin(Duration.ofSeconds(flags.number("--grace", 0, 30)));
        flags.find("--advertise").map(Flags::address).ifPresent(builder::advertise);
        flags.find("--zone").ifPresent(builder::zone);
        Optional<Registry> registry = flags.registry();
        registry.ifPresent(builder::registrar);
        // Watches never end by themselves.
        Runtime.getRuntime().addShutdownHook(new Thread(places::close));
        RpcServers.serve(builder, server -> {
            var address = server.address();
            System.out.println("geo " + GeoMethods.VERSION + " listens on "
                    + address.getAddress().getHostAddress() + ":" + address.getPort());
        });
        registry.ifPresent(Registry::close);
    }
}
