package io.stadium.rpc.discovery;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Instances at given addresses, which serve every service.
 *
 * <p>An address is {@code HOST:PORT} with an IP address or a name. A name with several addresses is
 * several instances. Names are looked up on a thread of their own: at the beginning, each minute,
 * and when a connection failed, at most once a second. A name that is not found keeps the addresses
 * that it had.
 */
public final class StaticInstances implements InstanceSource {
    private static final Logger LOG = LoggerFactory.getLogger(StaticInstances.class);
    private static final long REFRESH_SECONDS = 60;
    private static final long LOOKUP_PAUSE_NANOS = 1_000_000_000L;

    private final List<String> addresses;
    private final Set<Consumer<Instances>> listeners = new LinkedHashSet<>();

    /** The addresses that each name had last. */
    private final Map<String, List<String>> found = new LinkedHashMap<>();

    /** {@code null} where all addresses are IP addresses. */
    private final ScheduledExecutorService lookups;

    private Instances present;
    private long lookedUpNanos = System.nanoTime();

    /**
     * Creates a list.
     *
     * @param addresses {@code HOST:PORT}, one or more
     * @throws IllegalArgumentException there is none, or one is not {@code HOST:PORT}
     */
    public StaticInstances(List<String> addresses) {
        if (addresses.isEmpty()) {
            throw new IllegalArgumentException("a client needs an address");
        }
        this.addresses = List.copyOf(addresses);
        boolean hasNames = false;
        for (String address : addresses) {
            int colon = address.lastIndexOf(':');
            boolean hasPort = colon > 0 && address.substring(colon + 1).matches("[0-9]{1,5}")
                    && Integer.parseInt(address.substring(colon + 1)) <= 65_535;
            boolean isHost = hasPort && address.substring(0, colon).matches("[A-Za-z0-9._-]+");
            boolean isIp = Place.of("", address).isPresent();
            if (!isIp && !isHost) {
                throw new IllegalArgumentException("an address is HOST:PORT, not " + address);
            }
            hasNames |= !isIp;
        }
        if (hasNames) {
            present = new Instances(List.of(), false, false, "names are being looked up");
            lookups = Executors.newSingleThreadScheduledExecutor(
                    new DefaultThreadFactory("stadium-names", true));
            lookups.scheduleWithFixedDelay(this::lookUp, 0, REFRESH_SECONDS, TimeUnit.SECONDS);
        } else {
            lookups = null;
            present = list(this.addresses, "static", true);
        }
    }

    private static Instances list(List<String> addresses, String freshness, boolean isLive) {
        List<Instance> instances = addresses.stream().distinct()
                .map(address -> Instance.at(Place.of("", address).map(Place::address)
                        .orElse(address)))
                .toList();
        return new Instances(instances, true, isLive, freshness);
    }

    @Override
    public Watch watch(String service, Consumer<Instances> listener) {
        synchronized (listeners) {
            listeners.add(listener);
            listener.accept(present);
        }
        return () -> {
            synchronized (listeners) {
                listeners.remove(listener);
            }
        };
    }

    @Override
    public void connectionFailed() {
        synchronized (listeners) {
            long now = System.nanoTime();
            if (lookups == null || lookups.isShutdown()
                    || now - lookedUpNanos < LOOKUP_PAUSE_NANOS) {
                return;
            }
            lookedUpNanos = now;
            lookups.execute(this::lookUp);
        }
    }

    private void lookUp() {
        List<String> all = new ArrayList<>();
        String trouble = null;
        for (String address : addresses) {
            Optional<Place> place = Place.of("", address);
            if (place.isPresent()) {
                all.add(place.get().address());
                continue;
            }
            String error = lookUp(address);
            if (error != null) {
                trouble = error;
            }
            all.addAll(found.getOrDefault(address, List.of()));
        }
        Instances next = all.isEmpty()
                ? new Instances(List.of(), false, false, trouble)
                : list(all, trouble == null ? "by name" : trouble, trouble == null);
        synchronized (listeners) {
            boolean isNews = !next.equals(present);
            present = next;
            if (isNews) {
                if (trouble != null) {
                    LOG.warn("Name not found: {}", trouble);
                }
                listeners.forEach(listener -> listener.accept(next));
            }
        }
    }

    /** Looks up one name. Returns what is wrong, or {@code null}. */
    private String lookUp(String address) {
        int colon = address.lastIndexOf(':');
        String name = address.substring(0, colon);
        try {
            List<String> its = new ArrayList<>();
            for (InetAddress ip : InetAddress.getAllByName(name)) {
                boolean isIpv6 = ip.getAddress().length == 16;
                String host = io.netty.util.NetUtil.toAddressString(ip);
                its.add((isIpv6 ? "[" + host + "]" : host) + address.substring(colon));
            }
            found.put(address, its);
            return null;
        } catch (UnknownHostException e) {
            return name + " is not found";
        }
    }

    @Override
    public void close() {
        synchronized (listeners) {
            listeners.clear();
        }
        if (lookups != null) {
            lookups.shutdownNow();
        }
    }
}
