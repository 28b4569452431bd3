package io.stadium.rsocket.connection;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * The open streams of a connection, by id.
 *
 * <p>Open addressing with linear probing, and no tombstones: a removal moves back what follows it.
 * A peer chooses its own ids, so a request whose id would make the table slow is refused: a search
 * looks at no more than {@link #PROBES_MAX} slots. Stream objects that have ended are kept for the
 * next streams, as many as were open at a time, until {@link #shrink}.
 */
final class Streams {
    /**
     * Slots that a search looks at. Ids in sequence need one or two; more come only from chosen
     * ids.
     */
    private static final int PROBES_MAX = 256;

    /** Slots of the first table. */
    private static final int SLOTS_MIN = 8;

    private static final int[] NO_IDS = new int[0];
    private static final Stream[] NO_STREAMS = new Stream[0];

    /** The ids, 0 in a free slot; the length is a power of two, or 0. */
    private int[] ids = NO_IDS;

    private Stream[] slots = NO_STREAMS;
    private int shift = 32;
    private int size;

    /** Streams that have ended. */
    private Stream[] pool = NO_STREAMS;

    private int pooled;

    int size() {
        return size;
    }

    /** Where the search for an id begins. Fibonacci hashing: ids in sequence fall far apart. */
    private int home(int id) {
        return (id * 0x9E3779B1) >>> shift;
    }

    /** The stream of an id, or {@code null}. */
    Stream find(int id) {
        int at = slot(id);
        return at < 0 ? null : slots[at];
    }

    private int slot(int id) {
        int[] table = ids;
        if (table.length == 0 || id == 0) {
            return -1;
        }
        int mask = table.length - 1;
        int at = home(id) & mask;
        while (true) {
            int found = table[at];
            if (found == id) {
                return at;
            }
            if (found == 0) {
                return -1;
            }
            at = (at + 1) & mask;
        }
    }

    /** An object for a stream that begins. */
    Stream acquire() {
        if (pooled == 0) {
            return new Stream();
        }
        Stream stream = pool[--pooled];
        pool[pooled] = null;
        return stream;
    }

    /** Takes back the object of a stream that has ended and is not in the table. */
    void recycle(Stream stream) {
        stream.id = 0;
        stream.attachment = null;
        stream.partial = null;
        if (pooled == pool.length) {
            pool = Arrays.copyOf(pool, Math.max(SLOTS_MIN, pooled * 2));
        }
        pool[pooled++] = stream;
    }

    /** Adds a stream that is not in the table. Returns whether its id has a place. */
    boolean insert(Stream stream) {
        // Full at four fifths.
        if ((size + 1) * 5L > ids.length * 4L) {
            grow();
        }
        int mask = ids.length - 1;
        int at = home(stream.id) & mask;
        for (int probes = 0; ids[at] != 0; probes++) {
            assert ids[at] != stream.id : "a stream is inserted once";
            if (probes == PROBES_MAX) {
                return false;
            }
            at = (at + 1) & mask;
        }
        ids[at] = stream.id;
        slots[at] = stream;
        size++;
        return true;
    }

    private void grow() {
        Stream[] old = slots;
        int length = Math.max(SLOTS_MIN, old.length * 2);
        ids = new int[length];
        slots = new Stream[length];
        shift = 32 - Integer.numberOfTrailingZeros(length);
        int mask = length - 1;
        for (Stream stream : old) {
            if (stream != null) {
                int at = home(stream.id) & mask;
                while (ids[at] != 0) {
                    at = (at + 1) & mask;
                }
                ids[at] = stream.id;
                slots[at] = stream;
            }
        }
    }

    /** Removes a stream that is in the table. Its object belongs to the caller. */
    void remove(Stream stream) {
        int hole = slot(stream.id);
        int mask = ids.length - 1;
        int at = hole;
        while (true) {
            at = (at + 1) & mask;
            if (ids[at] == 0) {
                break;
            }
            // It may move back if its home is not between the hole and where it is.
            int fromHome = (at - home(ids[at])) & mask;
            int fromHole = (at - hole) & mask;
            if (fromHome >= fromHole) {
                ids[hole] = ids[at];
                slots[hole] = slots[at];
                hole = at;
            }
        }
        ids[hole] = 0;
        slots[hole] = null;
        size--;
    }

    /** Releases the memory if no stream is open. */
    void shrink() {
        if (size == 0) {
            ids = NO_IDS;
            slots = NO_STREAMS;
            shift = 32;
            pool = NO_STREAMS;
            pooled = 0;
        }
    }

    void forEach(Consumer<Stream> action) {
        for (Stream stream : slots.clone()) {
            if (stream != null && stream.id != 0) {
                action.accept(stream);
            }
        }
    }
}
