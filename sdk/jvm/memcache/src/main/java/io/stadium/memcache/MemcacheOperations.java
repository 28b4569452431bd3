package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.stadium.memcache.protocol.Command;
import io.stadium.memcache.protocol.Operation;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The operations of a client.
 *
 * <p>All of them throw {@link BadKey} for a key that no server accepts. Those that return a
 * {@link Pending} throw {@link Busy}, {@link TooLarge}, {@link Disconnected} and
 * {@link DeadlineExceeded} at once, where they cannot be submitted; other errors come with the
 * result. Submitting waits only where there is no connection yet. The others wait for the answer,
 * and throw any {@link MemcacheException}.
 *
 * @param <K> keys
 */
public abstract sealed class MemcacheOperations<K> permits MemcacheClient, ByteKeys {
    /**
     * Keys of a multiget that are in flight on all servers together, so that one does not take all
     * of {@link ClientBuilder#operationsMax}.
     */
    private static final int MULTIGET_KEYS = 256;

    final ClientCore core;
    final long timeout;

    MemcacheOperations(ClientCore core, long timeout) {
        this.core = core;
        this.timeout = timeout;
    }

    /** The bytes of a key, which nobody changes. */
    abstract byte[] bytes(K key);

    final Operation operation(Command command, K key) {
        return core.operation(command, bytes(key), timeout);
    }

    /**
     * Connects to every server that it is not connected to.
     *
     * @throws MemcacheException a server cannot be reached within the timeout
     */
    public final void connectAll() {
        long deadline = System.nanoTime() + timeout;
        core.servers.forEach(server -> server.connection.connect(deadline));
    }

    /**
     * Reads a value. After a lost connection it is tried once more.
     *
     * @param key the key
     * @return {@code null} where there is none
     */
    public final Value get(K key) {
        return core.value(core.read(operation(Command.GET, key)));
    }

    /**
     * Reads a value into a buffer, behind its position, which moves behind the value. When nothing
     * is there, or the call fails, the buffer is as it was. It allocates the key and the operation,
     * and nothing for a value that is not compressed. After a lost connection it is tried once
     * more.
     *
     * @param key the key
     * @param buffer used by no other thread until this returns
     * @return the value's flags, as an unsigned number; -1 where there is no value
     * @throws TooLarge the value has more bytes than {@code buffer} has room
     */
    public final long getInto(K key, ByteBuffer buffer) {
        return core.readInto(operation(Command.GET, key), buffer);
    }

    /**
     * Reads a value with its unique number, for {@link #cas}. After a lost connection it is tried
     * once more.
     *
     * @param key the key
     * @return {@code null} where there is none
     */
    public final Value gets(K key) {
        return core.value(core.read(operation(Command.GETS, key)));
    }

    /**
     * Reads values. A server that is away fails its own keys only.
     *
     * @param keys the keys
     * @return an outcome for each, in the order of the keys, whose value is {@code null} where
     *     there is none
     */
    public final List<Outcome<Value>> multiget(Collection<? extends K> keys) {
        List<Outcome<Value>> outcomes = new ArrayList<>(keys.size());
        List<K> part = new ArrayList<>(Math.min(keys.size(), MULTIGET_KEYS));
        for (K key : keys) {
            part.add(key);
            if (part.size() == MULTIGET_KEYS) {
                multiget(part, outcomes);
                part.clear();
            }
        }
        multiget(part, outcomes);
        return outcomes;
    }

    private void multiget(List<K> keys, List<Outcome<Value>> outcomes) {
        List<Object> begun = new ArrayList<>(keys.size());
        for (K key : keys) {
            try {
                begun.add(fetch(key));
            } catch (MemcacheException error) {
                begun.add(error);
            }
        }
        // All servers work at the same time.
        core.send();
        for (Object one : begun) {
            try {
                outcomes.add(one instanceof Pending<?> pending
                        ? Outcome.of((Value) pending.await())
                        : Outcome.failed((MemcacheException) one));
            } catch (MemcacheException error) {
                outcomes.add(Outcome.failed(error));
            }
        }
    }

    /**
     * Reads a value over UDP. Request and answer may be lost: that is {@link DeadlineExceeded},
     * after {@link ClientBuilder#udpTimeout}. It has no order with writes, and does not see those
     * that were not sent.
     *
     * @param key the key
     * @return {@code null} where there is none
     * @throws IllegalStateException the key's server has no UDP port
     */
    public final Value lossyGet(K key) {
        return LossyReads.read(core, List.of(bytes(key)), timeout).get(0).get();
    }

    /**
     * Reads values over UDP, as {@link #lossyGet} does, at most 64 from each server at a time.
     *
     * @param keys the keys
     * @return an outcome for each, in the order of the keys
     * @throws IllegalStateException a key's server has no UDP port
     */
    public final List<Outcome<Value>> lossyMultiget(Collection<? extends K> keys) {
        List<byte[]> bytes = new ArrayList<>(keys.size());
        keys.forEach(key -> bytes.add(bytes(key)));
        return LossyReads.read(core, bytes, timeout);
    }

    /**
     * Begins to read a value. The get leaves with the next operation that is waited for, after 1 ms
     * at most.
     *
     * @param key the key
     * @return the value; {@code null} where there is none
     */
    public final Pending<Value> fetch(K key) {
        return core.begin(operation(Command.GET, key), core::value);
    }

    /**
     * Stores a value. It leaves with the next operation that is waited for, with 16 kB of writes,
     * or after 1 ms.
     *
     * @param key the key
     * @param value its bytes, which are copied
     * @param expiry when it expires
     * @return the end of the operation
     */
    public final Pending<Void> set(K key, byte[] value, Expiry expiry) {
        return set(key, value, 0, expiry);
    }

    /**
     * Stores a text, as {@link #set(Object, byte[], Expiry)} does.
     *
     * @param key the key
     * @param value stored as UTF-8
     * @param expiry when it expires
     * @return the end of the operation
     */
    public final Pending<Void> set(K key, String value, Expiry expiry) {
        return set(key, value.getBytes(UTF_8), 0, expiry);
    }

    /**
     * Stores a value with flags, which come back with it.
     *
     * @param key the key
     * @param value its bytes, which are copied
     * @param flags 32 bits, without {@link Value#COMPRESSED}
     * @param expiry when it expires
     * @return the end of the operation
     * @throws BadFlags the flags have the bit of compressed values
     */
    public final Pending<Void> set(K key, byte[] value, int flags, Expiry expiry) {
        return core.begin(store(Command.SET, key, value, flags, expiry), Conversions.SET);
    }

    private Operation store(Command command, K key, byte[] value, int flags, Expiry expiry) {
        Operation operation = operation(command, key);
        operation.expiry = expiry.onWire();
        core.load(operation, value, flags);
        return operation;
    }

    /**
     * Stores a value where there is none.
     *
     * @param key the key
     * @param value its bytes, which are copied
     * @param expiry when it expires
     * @return {@link Stored#NOT_STORED} where there is one
     */
    public final Pending<Stored> add(K key, byte[] value, Expiry expiry) {
        return core.begin(store(Command.ADD, key, value, 0, expiry), Conversions.STORED);
    }

    /**
     * Stores a value where there is one.
     *
     * @param key the key
     * @param value its bytes, which are copied
     * @param expiry when it expires
     * @return {@link Stored#NOT_STORED} where there is none
     */
    public final Pending<Stored> replace(K key, byte[] value, Expiry expiry) {
        return core.begin(store(Command.REPLACE, key, value, 0, expiry), Conversions.STORED);
    }

    /**
     * Puts bytes behind a value, which must not be compressed; its flags and its expiry stay.
     *
     * @param key the key
     * @param value the bytes, which are copied
     * @return {@link Stored#NOT_STORED} where there is no value
     */
    public final Pending<Stored> append(K key, byte[] value) {
        return core.begin(store(Command.APPEND, key, value, 0, Expiry.NEVER), Conversions.STORED);
    }

    /**
     * Puts bytes before a value, which must not be compressed; its flags and its expiry stay.
     *
     * @param key the key
     * @param value the bytes, which are copied
     * @return {@link Stored#NOT_STORED} where there is no value
     */
    public final Pending<Stored> prepend(K key, byte[] value) {
        return core.begin(store(Command.PREPEND, key, value, 0, Expiry.NEVER), Conversions.STORED);
    }

    /**
     * Stores a value where the one that is there still has the unique number of {@link #gets}.
     *
     * @param key the key
     * @param value its bytes, which are copied
     * @param cas {@link Value#cas}
     * @param expiry when it expires
     * @return {@link Stored#CHANGED} or {@link Stored#MISSING} where it has not
     */
    public final Pending<Stored> cas(K key, byte[] value, long cas, Expiry expiry) {
        Operation operation = store(Command.CAS, key, value, 0, expiry);
        operation.number = cas;
        return core.begin(operation, Conversions.STORED);
    }

    /**
     * Adds to a number, modulo 2^64. Numbers are unsigned.
     *
     * @param key the key
     * @param delta the amount
     * @return the new number; {@code null} where there is no value. {@link ClientError} where the
     *     value is no number
     */
    public final Pending<Long> incr(K key, long delta) {
        return number(Command.INCR, key, delta, 0, Operation.ABSENT);
    }

    /**
     * Adds to a number, and makes it where there is none. It needs the meta protocol.
     *
     * @param key the key
     * @param delta the amount
     * @param initial the number where there is none
     * @param expiry when the new item expires
     * @return the new number
     */
    public final Pending<Long> incr(K key, long delta, long initial, Expiry expiry) {
        return number(Command.INCR, key, delta, initial, expiry.onWire());
    }

    /**
     * Subtracts from a number, down to 0. Numbers are unsigned.
     *
     * @param key the key
     * @param delta the amount
     * @return the new number; {@code null} where there is no value. {@link ClientError} where the
     *     value is no number
     */
    public final Pending<Long> decr(K key, long delta) {
        return number(Command.DECR, key, delta, 0, Operation.ABSENT);
    }

    /**
     * Subtracts from a number, and makes it where there is none. It needs the meta protocol.
     *
     * @param key the key
     * @param delta the amount
     * @param initial the number where there is none
     * @param expiry when the new item expires
     * @return the new number
     */
    public final Pending<Long> decr(K key, long delta, long initial, Expiry expiry) {
        return number(Command.DECR, key, delta, initial, expiry.onWire());
    }

    private Pending<Long> number(Command command, K key, long delta, long initial, long expiry) {
        Operation operation = operation(command, key);
        operation.number = delta;
        operation.initial = initial;
        operation.expiry = expiry;
        return core.begin(operation, Conversions.NUMBER);
    }

    /**
     * Gives an item a new time to live.
     *
     * @param key the key
     * @param expiry when it expires
     * @return {@code false} where there is none
     */
    public final Pending<Boolean> touch(K key, Expiry expiry) {
        Operation operation = operation(Command.TOUCH, key);
        operation.expiry = expiry.onWire();
        return core.begin(operation, Conversions.WAS_THERE);
    }

    /**
     * Deletes an item.
     *
     * @param key the key
     * @return {@code false} where there is none
     */
    public final Pending<Boolean> delete(K key) {
        return core.begin(operation(Command.DELETE, key), Conversions.WAS_THERE);
    }

    /**
     * Stores a program's own type.
     *
     * @param <T> values
     * @param format its conversion
     * @param key the key
     * @param value the value
     * @param expiry when it expires
     * @return the end of the operation
     * @throws FormatError the value cannot be written
     */
    public final <T> Pending<Void> setAs(Format<T> format, K key, T value, Expiry expiry) {
        Value written = Conversions.write(format, value);
        return set(key, written.bytes(), written.flags(), expiry);
    }

    /**
     * Reads a program's own type.
     *
     * @param <T> values
     * @param format its conversion
     * @param key the key
     * @return {@code null} where there is none
     * @throws FormatError the bytes are of another format
     */
    public final <T> T getAs(Format<T> format, K key) {
        Value value = get(key);
        return value == null ? null : Conversions.read(format, value);
    }

    /**
     * Reads a value, and asks whether this caller is to make it anew. It needs the meta protocol.
     * An empty value that is about to expire looks like a missing one.
     *
     * @param key the key
     * @param how when a value is made anew
     * @return the value, and the caller that makes it anew
     */
    public final Lookup lookup(K key, Recache how) {
        return Recaching.lookup(core, operation(Command.LOOKUP, key), how);
    }

    /**
     * Reads a value, or makes it where this caller is the one to do so, and stores it. Where
     * another caller makes it, this one takes the old value, or waits for the new one until the
     * deadline. It needs the meta protocol.
     *
     * @param <E> failures of {@code make}
     * @param key the key
     * @param how when a value is made anew
     * @param expiry when the new value expires
     * @param make makes the value
     * @return the value
     * @throws E the value cannot be made
     * @throws DeadlineExceeded the other caller took too long
     */
    public final <E extends Exception> Value readThrough(
            K key, Recache how, Expiry expiry, Maker<E> make) throws E {
        return Recaching.readThrough(this, key, how, expiry, make);
    }

    /**
     * Makes a value.
     *
     * @param <E> failures
     */
    @FunctionalInterface
    public interface Maker<E extends Exception> {
        /**
         * Makes the value.
         *
         * @return its bytes
         * @throws E it cannot be made
         */
        byte[] make() throws E;
    }

    /**
     * Marks a value as stale: one reader by {@link #lookup} wins, the others may use it for as long
     * as it lives. It needs the meta protocol.
     *
     * @param key the key
     * @return {@code false} where there is none
     */
    public final Pending<Boolean> invalidate(K key) {
        return core.begin(operation(Command.INVALIDATE, key), Conversions.WAS_THERE);
    }

    /**
     * Marks a value as stale, as {@link #invalidate(Object)} does.
     *
     * @param key the key
     * @param keep the time for which the others may use it
     * @return {@code false} where there is none
     */
    public final Pending<Boolean> invalidate(K key, Expiry keep) {
        Operation operation = operation(Command.INVALIDATE, key);
        operation.expiry = keep.onWire();
        return core.begin(operation, Conversions.WAS_THERE);
    }

    /**
     * The statistics of each server.
     *
     * @param group such as {@code items}, {@code slabs} or {@code settings}; empty for the general
     *     ones
     * @return names and values as they were sent
     * @throws IllegalArgumentException {@code group} is more than words of letters and digits
     */
    public final Map<Address, Outcome<Map<String, String>>> stats(String group) {
        if (!group.matches("[A-Za-z0-9_ ]*")) {
            throw new IllegalArgumentException("no group of statistics: " + group);
        }
        String line = group.isEmpty() ? "stats" : "stats " + group;
        return core.ofEach(Command.STATS, line.getBytes(UTF_8), timeout, text -> {
            Map<String, String> statistics = new TreeMap<>();
            new String(text, UTF_8).lines().forEach(one -> {
                int space = one.indexOf(' ');
                statistics.put(space < 0 ? one : one.substring(0, space),
                        space < 0 ? "" : one.substring(space + 1));
            });
            return statistics;
        });
    }

    /**
     * The version of each server.
     *
     * @return such as {@code 1.6.18}
     */
    public final Map<Address, Outcome<String>> versions() {
        return core.ofEach(Command.VERSION, "version".getBytes(UTF_8), timeout,
                text -> new String(text, UTF_8));
    }

    /**
     * The servers that are ejected now.
     *
     * @return their addresses
     */
    public final List<Address> ejected() {
        return core.servers.stream().filter(Server::isEjected)
                .map(server -> server.connection.address()).toList();
    }

    /**
     * The server that has a key while none is ejected.
     *
     * @param key the key
     * @return its address
     */
    public final Address serverOf(K key) {
        return core.addressOf(bytes(key));
    }
}
