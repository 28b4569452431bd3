package io.stadium.memcache.driver;

import io.stadium.memcache.Address;
import io.stadium.memcache.DeadlineExceeded;
import io.stadium.memcache.Disconnected;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.NotAuthenticated;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The helper thread of a connection: it connects, writes what no caller waits for, and turns the
 * connection for futures. It sleeps while callers do all of it themselves.
 */
final class Helper implements Runnable {
    /** Ticks without work before it parks. */
    private static final int IDLE_TICKS = 20;

    /** Time that the helper of a closed client waits for the last answers. */
    private static final long FINISH = TimeUnit.MILLISECONDS.toNanos(200);

    /** The deadline of a future is kept to this. */
    private static final long DRIVEN_TICK = TimeUnit.MILLISECONDS.toNanos(5);

    private final Driver driver;
    private final State state;
    private final Address address;

    Helper(Driver driver, Address address) {
        this.driver = driver;
        this.address = address;
        state = driver.state;
    }

    static void start(Driver driver, Address address) {
        Thread thread = new Thread(new Helper(driver, address), "memcache " + address);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void run() {
        int idle = 0;
        state.lock.lock();
        try {
            while (!state.isClosed) {
                if (state.wire == null && state.isWanted && !state.isTurning && !state.isWriting) {
                    reconnect();
                } else if (!state.driven.isEmpty() && !state.isTurning && state.wire != null) {
                    drive();
                } else if (state.isBusy() || state.isWanted || ++idle < IDLE_TICKS) {
                    if (state.isBusy() || state.isWanted) {
                        idle = 0;
                    }
                    tick();
                } else {
                    park();
                    idle = 0;
                }
            }
            finish();
        } finally {
            state.lock.unlock();
        }
        driver.notifyDone();
    }

    private void tick() {
        sleep(Driver.WRITES_DELAY);
        expire();
        if (state.isBusy() && (!state.isTurning || state.isAsleep) && state.wire != null) {
            // Nothing that comes later confirms a quiet set.
            state.isForced |= !state.pipeline.isOwed();
            driver.pump();
        }
    }

    private void park() {
        state.isHelperParked = true;
        while (state.isHelperParked && !state.isWanted && !state.isClosed) {
            state.bell.awaitUninterruptibly();
        }
        state.isHelperParked = false;
    }

    private void sleep(long nanos) {
        try {
            state.bell.awaitNanos(nanos);
        } catch (InterruptedException ignored) {
            // Nobody has this thread; the loop checks what is to do.
        }
    }

    /** Turns the connection for futures. */
    private void drive() {
        state.isTurning = true;
        Wire wire = state.wire;
        state.lock.unlock();
        try {
            driver.turn(wire, null, System.nanoTime() + DRIVEN_TICK);
        } finally {
            state.lock.lock();
        }
        expire();
    }

    /** Ends futures whose deadline passed. */
    private void expire() {
        if (state.driven.isEmpty()) {
            return;
        }
        long now = System.nanoTime();
        List<Consumer<MemcacheException>> late = new ArrayList<>();
        state.driven.removeIf(operation -> {
            boolean isLate = now - operation.deadline >= 0;
            if (!operation.isDone() && isLate && operation.listener != null) {
                late.add(operation.listener);
                operation.listener = null;
                operation.took(now);
                return true;
            }
            return operation.isDone();
        });
        if (!late.isEmpty()) {
            state.lock.unlock();
            try {
                late.forEach(listener -> Driver.call(listener, new DeadlineExceeded()));
            } finally {
                state.lock.lock();
            }
        }
    }

    /** Ends the connection, when the server has answered or for a moment has not. */
    private void finish() {
        long deadline = System.nanoTime() + FINISH;
        while (state.wire != null && state.isBusy() && System.nanoTime() - deadline < 0) {
            state.isForced |= !state.pipeline.isOwed();
            driver.pump();
            sleep(Driver.WRITES_DELAY);
        }
        String text = "the client is closed";
        state.lose(() -> new Disconnected(text), text, System.nanoTime());
    }

    private void reconnect() {
        Settings settings = driver.settings;
        Connector.Connected connected = null;
        Supplier<MemcacheException> failure = null;
        state.lock.unlock();
        try {
            connected = Connector.connect(address, settings);
        } catch (Connector.Refused error) {
            failure = () -> new NotAuthenticated(error.getMessage());
        } catch (IOException | RuntimeException error) {
            String text = address + ": "
                    + (error.getMessage() == null ? error.toString() : error.getMessage());
            failure = () -> new Disconnected(text);
        } finally {
            state.lock.lock();
        }
        long now = System.nanoTime();
        state.isWanted = false;
        if (connected == null) {
            state.failures++;
            long longest = Math.min(settings.backoffMax(),
                    settings.backoffMin() << Math.min(state.failures, 16));
            // Half of it at least: clients of one server do not come back together.
            double part = 0.5 + ThreadLocalRandom.current().nextDouble() / 2;
            state.retryAt = now + (long) (longest * part);
            state.lastError = failure;
        } else if (state.isClosed) {
            connected.transport().close();
        } else {
            state.wire = new Wire(connected.transport());
            state.dialect = connected.dialect();
            state.peer = connected.peer();
            state.outbox.speak(connected.dialect());
            state.failures = 0;
            state.progressAt = now;
        }
        state.linked.signalAll();
    }
}
