package io.stadium.rsocket.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rsocket.frame.Interaction;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The table of streams, the ids that a peer has used, and the sums of credit. */
class StreamsTest {
    @Test
    void theTableIsAMap() {
        long seed = Long.getLong("stadium.seed", System.nanoTime());
        Random random = new Random(seed);
        Streams streams = new Streams();
        Map<Integer, Stream> expected = new HashMap<>();
        for (int step = 0; step < 200_000; step++) {
            String place = "-Dstadium.seed=" + seed + ", step " + step;
            int id = 1 + random.nextInt(500);
            Stream stream = streams.find(id);
            assertSame(expected.get(id), stream, place);
            if (stream == null && random.nextInt(3) > 0) {
                stream = streams.acquire().begin(id, Interaction.REQUEST_RESPONSE, 0, 0, 0, null);
                assertTrue(streams.insert(stream), place);
                expected.put(id, stream);
            } else if (stream != null) {
                streams.remove(stream);
                streams.recycle(stream);
                expected.remove(id);
            }
            assertEquals(expected.size(), streams.size(), place);
        }
        Set<Integer> visited = new HashSet<>();
        streams.forEach(stream -> visited.add(stream.id));
        assertEquals(expected.keySet(), visited);
        expected.values().forEach(streams::remove);
        streams.shrink();
        assertNull(streams.find(1));
    }

    @Test
    void idsThatCollideHaveNoPlace() {
        // Multiples of the inverse of the hash's factor have the same home in every table of this
        // size.
        Streams streams = new Streams();
        int inserted = 0;
        int inverse = 0xE8B2F51;
        for (int nth = 1; nth <= 2_000; nth++) {
            int id = nth * inverse;
            if (id > 0 && !streams.insert(
                    streams.acquire().begin(id, Interaction.REQUEST_RESPONSE, 0, 0, 0, null))) {
                assertTrue(inserted >= 256, inserted + " streams");
                return;
            }
            inserted += id > 0 ? 1 : 0;
        }
        assertFalse(true, "no id was refused");
    }

    @Test
    void theNewestIdsMayArriveOutOfOrder() {
        PeerIds ids = new PeerIds();
        assertEquals(PeerIds.Use.ALLOWED, ids.use(129, false));
        for (int id = 3; id < 129; id += 2) {
            assertEquals(PeerIds.Use.ALLOWED, ids.use(id, false), "stream " + id);
            assertEquals(PeerIds.Use.REUSED, ids.use(id, false), "stream " + id);
        }
        assertEquals(PeerIds.Use.REUSED, ids.use(1, false));
    }

    @Test
    void aRequesterThatHasUsedItsLastIdBeginsAgain() {
        PeerIds ids = new PeerIds();
        assertEquals(PeerIds.Use.ALLOWED, ids.use(1, false));
        assertEquals(PeerIds.Use.ALLOWED, ids.use(Integer.MAX_VALUE, false));
        assertEquals(PeerIds.Use.REUSED, ids.use(1, true));
        assertEquals(PeerIds.Use.ALLOWED, ids.use(1, false));
        assertEquals(PeerIds.Use.REUSED, ids.use(3, true));
        assertEquals(PeerIds.Use.ALLOWED, ids.use(5, false));
    }

    @Test
    void creditStopsAtItsGreatestValue() {
        assertEquals(5, Stream.add(2, 3));
        assertEquals(Integer.MAX_VALUE, Stream.add(Integer.MAX_VALUE, Integer.MAX_VALUE));
        assertEquals(Integer.MAX_VALUE, Stream.take(Integer.MAX_VALUE));
        assertEquals(1, Stream.take(2));
    }
}
