package io.stadium.rpc.registry;

import io.stadium.rpc.discovery.InstanceSource;
import io.stadium.rpc.discovery.InstanceValue;
import io.stadium.rpc.discovery.InstanceValue.State;
import io.stadium.rpc.discovery.Instances;
import io.stadium.rpc.discovery.Place;
import io.stadium.rpc.discovery.Roster;
import io.stadium.rpc.discovery.Roster.After;
import io.stadium.rpc.discovery.Roster.Change;
import io.stadium.rpc.server.Registrar;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds and registers instances by a backend that may be away for any time. Lists are kept
 * meanwhile, and entries are registered again afterwards.
 *
 * <p>One thread owns all lists and entries, and the only session with the backend. The methods that
 * others call never wait for it, but for {@link Registrar.Registration#withdraw}.
 */
public final class Registry implements InstanceSource, Registrar {
    private static final Logger LOG = LoggerFactory.getLogger(Registry.class);

    /** Events that wait for the thread; beyond it the lists are read again instead. */
    private static final int MAILBOX_MAX = 16_384;

    /** Services that are watched, and entries that are kept. */
    private static final int SERVICES_MAX = 4_096;

    private static final int ENTRIES_MAX = 1_024;

    /** An outage that ends within this time is not reported. */
    private static final long BRIEF_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final long RETRY_MIN_MS = 100;
    private static final long RETRY_MAX_MS = 5_000;

    /** Changes of load factors alone are reported ten times a second. */
    private static final long LOADS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final Runnable NOTHING = () -> {};

    private final RegistrySettings settings;
    private final RegistrySession.Connector connector;
    private final LinkedBlockingQueue<Runnable> mailbox = new LinkedBlockingQueue<>(MAILBOX_MAX);
    private final Thread thread;
    private volatile boolean isClosed;

    /** Both guarded by this object; the lists in them belong to the thread. */
    private final Map<String, Followed> followed = new TreeMap<>();

    private final List<RegistryEntry> entries = new ArrayList<>();

    /** Why the session is of no use any more. */
    private volatile String failure;

    private volatile boolean isOverrun;

    /** Takes the events of the present session. */
    private volatile SessionEvents current;

    /** Fields from here on belong to the thread: entries that this session has not written yet. */
    private final List<RegistryEntry> unkept = new ArrayList<>();

    /** Since when the backend is away; 0 while it is there. */
    private long awaySinceNanos = System.nanoTime();

    private long refreshNanos;
    private long beatNanos;

    /** The list of a service and its watchers. */
    private static final class Followed {
        final String service;
        final Roster roster;
        final List<Consumer<Instances>> listeners = new ArrayList<>();
        boolean isFollowing;
        After after = After.OUTAGE;

        /** When changed loads are reported; 0 where none have changed. */
        long loadsNanos;

        Followed(String service, Roster roster) {
            this.service = service;
            this.roster = roster;
        }
    }

    /**
     * Begins to connect.
     *
     * @param settings where the backend is
     * @param connector begins sessions with it; closed with the registry
     */
    public Registry(RegistrySettings settings, RegistrySession.Connector connector) {
        this.settings = settings;
        this.connector = connector;
        thread = new Thread(this::run, "stadium-discovery");
        thread.setDaemon(true);
        thread.start();
    }

    private static long micros(long nanoTime) {
        return nanoTime / 1_000;
    }

    private static long nowUs() {
        return micros(System.nanoTime());
    }

    @Override
    public Watch watch(String service, Consumer<Instances> listener) {
        synchronized (this) {
            if (followed.size() >= SERVICES_MAX && !followed.containsKey(service)) {
                throw new IllegalStateException(
                        "DSC-003: more than " + SERVICES_MAX + " services are watched");
            }
            Followed one = followed.computeIfAbsent(service, name -> new Followed(name, new Roster(
                    settings.sessionTtl().toNanos() / 1_000, "not heard yet")));
            submit(() -> {
                one.listeners.add(listener);
                report(listener, one.roster.snapshot(null));
            });
        }
        return () -> submit(() -> unwatch(service, listener));
    }

    private void unwatch(String service, Consumer<Instances> listener) {
        synchronized (this) {
            Followed one = followed.get(service);
            if (one != null) {
                // It is followed until the session ends; watched again it has its list at once.
                one.listeners.remove(listener);
            }
        }
    }

    @Override
    public Registration register(String service, Place place, InstanceValue value) {
        RegistryEntry entry = new RegistryEntry(this, service + "/" + place, value);
        synchronized (this) {
            if (entries.size() >= ENTRIES_MAX) {
                throw new IllegalStateException(
                        "DSC-003: more than " + ENTRIES_MAX + " entries are kept");
            }
            entries.add(entry);
        }
        submit(() -> unkept.add(entry));
        return entry;
    }

    /** Has the thread look at what is wanted. */
    void wake() {
        mailbox.offer(NOTHING);
    }

    /** A command, which is never lost: it waits for a place. */
    private void submit(Runnable command) {
        try {
            mailbox.put(command);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    private void run() {
        long pauseMs = RETRY_MIN_MS;
        while (!isClosed) {
            SessionEvents events = new SessionEvents();
            current = events;
            failure = null;
            try (RegistrySession session = connector.connect(events)) {
                begin(session);
                pauseMs = RETRY_MIN_MS;
                serve(session);
            } catch (InterruptedException e) {
                // Closed, or by nobody: the loop looks.
            } catch (Exception e) {
                LOG.debug("Registry is away: members={}", settings.members(), e);
                away(e);
                pause(ThreadLocalRandom.current().nextLong(RETRY_MIN_MS / 2, pauseMs + 1));
                pauseMs = Math.min(pauseMs * 3, RETRY_MAX_MS);
            }
        }
        connector.close();
    }

    private void away(Exception why) {
        long now = System.nanoTime();
        if (awaySinceNanos == 0) {
            awaySinceNanos = now;
            LOG.warn("Registry is away: members={} error={}", settings.members(), why.toString());
        }
        if (now - awaySinceNanos >= BRIEF_NANOS) {
            String text = "the registry is away: " + why.getMessage();
            for (Followed one : all()) {
                changed(one, one.roster.lost(text));
            }
        }
        for (Followed one : all()) {
            one.isFollowing = false;
            one.after = After.OUTAGE;
        }
    }

    private List<Followed> all() {
        synchronized (this) {
            return new ArrayList<>(followed.values());
        }
    }

    private List<RegistryEntry> entries() {
        synchronized (this) {
            return new ArrayList<>(entries);
        }
    }

    /** Deals with commands for a while; events of the session that ended are ignored. */
    private void pause(long ms) {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        while (!isClosed && until - System.nanoTime() > 0) {
            try {
                take(until - System.nanoTime());
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Runs the next command or event, and those that came with it. */
    private void take(long nanos) throws InterruptedException {
        Runnable task = mailbox.poll(Math.max(nanos, 0), TimeUnit.NANOSECONDS);
        while (task != null) {
            task.run();
            task = mailbox.poll();
        }
    }

    private void begin(RegistrySession session) throws Exception {
        long now = System.nanoTime();
        unkept.clear();
        unkept.addAll(entries());
        follow(session);
        keepAll(session);
        if (awaySinceNanos != 0) {
            awaySinceNanos = 0;
            LOG.info("Registry is there: members={}", settings.members());
        }
        beatNanos = now + settings.beat().toNanos();
        refreshNanos = nextRefresh(now);
    }

    /** Moved by up to a tenth, so that clients do not stay in step. */
    private long nextRefresh(long now) {
        return now + (long) (settings.refresh().toNanos()
                * ThreadLocalRandom.current().nextDouble(0.9, 1.1));
    }

    private void follow(RegistrySession session) throws Exception {
        for (Followed one : all()) {
            if (one.isFollowing) {
                continue;
            }
            Map<Place, InstanceValue> found = new TreeMap<>();
            session.follow(one.service).forEach((path, value) -> {
                Place place = place(path);
                InstanceValue read = InstanceValue.read(value).orElse(null);
                if (place != null && read != null && found.size() < Roster.INSTANCES_MAX) {
                    found.put(place, read);
                }
            });
            one.isFollowing = true;
            Change change = one.roster.listed(found, one.after, nowUs());
            one.after = After.CONTACT;
            changed(one, change);
        }
    }

    private void keepAll(RegistrySession session) throws Exception {
        for (Iterator<RegistryEntry> left = unkept.iterator(); left.hasNext(); ) {
            RegistryEntry entry = left.next();
            if (!entry.isUnwanted()) {
                entry.keep(session);
            }
            left.remove();
        }
        for (RegistryEntry entry : entries()) {
            if (entry.isUnwanted()) {
                entry.withdraw(session);
                synchronized (this) {
                    entries.remove(entry);
                }
            }
        }
    }

    private void serve(RegistrySession session) throws Exception {
        while (!isClosed) {
            if (failure != null) {
                throw new IOException(failure);
            }
            long now = System.nanoTime();
            if (now - beatNanos >= 0) {
                session.beat();
                beatNanos = System.nanoTime() + settings.beat().toNanos();
            }
            if (now - refreshNanos >= 0 || isOverrun) {
                isOverrun = false;
                refreshNanos = nextRefresh(now);
                all().forEach(one -> one.isFollowing = false);
                unkept.addAll(entries());
            }
            follow(session);
            keepAll(session);
            take(Math.min(Math.min(beatNanos - now, refreshNanos - now),
                    Math.min(writeLoads(session, now), reportDue(now))));
        }
    }

    /** Writes changed loads. Returns in how many nanoseconds the next is due. */
    private long writeLoads(RegistrySession session, long now) throws Exception {
        long next = Long.MAX_VALUE;
        for (RegistryEntry entry : entries()) {
            next = Math.min(next, entry.writeIfDue(session, now));
        }
        return next;
    }

    /** Forgets instances and reports loads. Returns in how many nanoseconds more is due. */
    private long reportDue(long now) {
        long next = Long.MAX_VALUE;
        for (Followed one : all()) {
            changed(one, one.roster.expire(micros(now)));
            if (one.loadsNanos != 0 && now - one.loadsNanos >= 0) {
                report(one);
            }
            long expiryUs = one.roster.nextExpiryUs();
            if (expiryUs != Roster.NEVER) {
                next = Math.min(next, Math.max(expiryUs - micros(now), 0) * 1_000 + 1_000);
            }
            if (one.loadsNanos != 0) {
                next = Math.min(next, Math.max(one.loadsNanos - now, 0));
            }
        }
        return next;
    }

    private void changed(Followed one, Change change) {
        if (change == Change.MEMBERS) {
            report(one);
        } else if (change == Change.LOADS && one.loadsNanos == 0) {
            one.loadsNanos = System.nanoTime() + LOADS_NANOS;
        }
    }

    private static void report(Followed one) {
        one.loadsNanos = 0;
        Instances list = one.roster.snapshot(null);
        one.listeners.forEach(listener -> report(listener, list));
    }

    private static void report(Consumer<Instances> listener, Instances list) {
        try {
            listener.accept(list);
        } catch (RuntimeException e) {
            LOG.error("Watcher failed", e);
        }
    }

    /** The place of a path {@code NAME/VERSION/HOST:PORT}, or {@code null}. */
    private static Place place(String path) {
        int slash = path.indexOf('/');
        return slash < 0 ? null : Place.read(path.substring(slash + 1)).orElse(null);
    }

    /** Events of one session; those of an earlier one are ignored. */
    private final class SessionEvents implements RegistrySession.Events {
        private void submit(String path, Consumer<Followed> event) {
            boolean hasPlace = mailbox.offer(() -> {
                Followed one;
                synchronized (Registry.this) {
                    one = followed.get(path.substring(0, Math.max(path.indexOf('/'), 0)));
                }
                if (one != null && one.isFollowing && current == this) {
                    event.accept(one);
                }
            });
            if (!hasPlace) {
                isOverrun = true;
            }
        }

        @Override
        public void put(String path, byte[] value) {
            Place place = place(path);
            InstanceValue read = InstanceValue.read(value).orElse(null);
            if (place != null && read != null) {
                submit(path, one -> changed(one, one.roster.announced(place, read)));
            }
        }

        @Override
        public void left(String path) {
            Place place = place(path);
            if (place != null) {
                submit(path, one -> {
                    one.roster.announced(
                            place, new InstanceValue(0, "", 100, State.QUIESCING));
                    changed(one, one.roster.removed(place, nowUs()));
                });
            }
        }

        @Override
        public void removed(String path) {
            Place place = place(path);
            if (place != null) {
                submit(path, one -> changed(one, one.roster.removed(place, nowUs())));
            }
        }

        @Override
        public void failed(String why) {
            if (current == this) {
                failure = why;
                wake();
            }
        }
    }

    /**
     * Ends all watches and the session. Entries that were not withdrawn end with their lease or
     * session. It waits up to 5 seconds.
     */
    @Override
    public void close() {
        isClosed = true;
        thread.interrupt();
        try {
            thread.join(5_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
