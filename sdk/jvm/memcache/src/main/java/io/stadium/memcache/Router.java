package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The server of a key: rendezvous hashing, or the ring of ketama. Integers only where servers are
 * compared, so that every implementation chooses the same.
 */
abstract class Router {
    /** A server, its share of the keys, and its UDP port, 0 for none. */
    record Member(Address address, int weight, int udp) {}

    /** The first server of the key that is usable; -1 for none. */
    abstract int choose(byte[] key, IntPredicate isUsable);

    static Router of(Routing routing, List<Member> members) {
        if (members.size() == 1) {
            return new Router() {
                @Override
                int choose(byte[] key, IntPredicate isUsable) {
                    return isUsable.test(0) ? 0 : -1;
                }
            };
        }
        return routing == Routing.KETAMA ? new Ketama(members) : new Rendezvous(members);
    }

    /** For each server a hash of its address for each unit of its weight. */
    private static final class Rendezvous extends Router {
        private final long[][] servers;

        Rendezvous(List<Member> members) {
            servers = members.stream().map(Rendezvous::hashes).toArray(long[][]::new);
        }

        private static long[] hashes(Member member) {
            long address = fnv1a(member.address().toString().getBytes(UTF_8));
            long[] hashes = new long[member.weight()];
            Arrays.setAll(hashes, unit -> mix(address + unit));
            return hashes;
        }

        private long score(int server, long key) {
            long score = 0;
            for (long one : servers[server]) {
                long mixed = mix(key ^ one);
                if (Long.compareUnsigned(mixed, score) > 0) {
                    score = mixed;
                }
            }
            return score;
        }

        @Override
        int choose(byte[] key, IntPredicate isUsable) {
            long hash = fnv1a(key);
            int first = 0;
            long greatest = score(0, hash);
            for (int at = 1; at < servers.length; at++) {
                long score = score(at, hash);
                if (Long.compareUnsigned(score, greatest) >= 0) {
                    first = at;
                    greatest = score;
                }
            }
            if (isUsable.test(first)) {
                return first;
            }
            int chosen = first;
            Comparator<Integer> byScore =
                    (one, other) -> Long.compareUnsigned(score(one, hash), score(other, hash));
            return IntStream.range(0, servers.length).boxed()
                    .filter(at -> at != chosen)
                    .sorted(byScore.thenComparing(Comparator.naturalOrder()).reversed())
                    .filter(isUsable::test)
                    .findFirst().orElse(-1);
        }
    }

    /** Points in order, each with its server. */
    private static final class Ketama extends Router {
        /** Points of a server of average weight on the ring, four from each digest. */
        private static final float POINTS = 160;

        /** The upper half of each is the point, the lower one its server. */
        private final long[] points;
        private final int servers;
        private final MessageDigest md5 = md5();

        Ketama(List<Member> members) {
            servers = members.size();
            int total = members.stream().mapToInt(Member::weight).sum();
            List<Long> ring = new ArrayList<>();
            for (int at = 0; at < servers; at++) {
                Member member = members.get(at);
                float share = (float) member.weight() / total;
                int digests = (int) Math.floor(share * POINTS / 4 * servers + 0.000_000_000_1f);
                for (int digestAt = 0; digestAt < digests; digestAt++) {
                    byte[] digest =
                            md5.digest((name(member.address()) + "-" + digestAt).getBytes(UTF_8));
                    for (int part = 0; part < 4; part++) {
                        ring.add(word(digest, part) << Integer.SIZE | at);
                    }
                }
            }
            points = ring.stream().mapToLong(point -> point ^ Long.MIN_VALUE).sorted().toArray();
        }

        /** As libmemcached names a server: {@code host:port}, or {@code host} at the usual port. */
        private static String name(Address address) {
            if (address instanceof Address.Tcp tcp) {
                return tcp.port() == Address.PORT ? tcp.host() : tcp.host() + ":" + tcp.port();
            }
            return address + ":0";
        }

        private static MessageDigest md5() {
            try {
                return MessageDigest.getInstance("MD5");
            } catch (NoSuchAlgorithmException error) {
                throw new AssertionError("every Java platform has MD5", error);
            }
        }

        private static long word(byte[] digest, int part) {
            int at = part * 4;
            return digest[at] & 0xff | (digest[at + 1] & 0xff) << 8 | (digest[at + 2] & 0xff) << 16
                    | (digest[at + 3] & 0xffL) << 24;
        }

        private byte[] digest(byte[] key) {
            try {
                return ((MessageDigest) md5.clone()).digest(key);
            } catch (CloneNotSupportedException error) {
                return md5().digest(key);
            }
        }

        @Override
        int choose(byte[] key, IntPredicate isUsable) {
            long hash = word(digest(key), 0) << Integer.SIZE ^ Long.MIN_VALUE;
            int found = Arrays.binarySearch(points, hash);
            int begin = found < 0 ? -found - 1 : found;
            BitSet tried = null;
            for (int step = 0; step < points.length; step++) {
                int server = (int) points[(begin + step) % points.length];
                if (tried != null && tried.get(server)) {
                    continue;
                }
                if (isUsable.test(server)) {
                    return server;
                }
                tried = tried == null ? new BitSet(servers) : tried;
                tried.set(server);
            }
            return -1;
        }
    }

    /** FNV-1a with 64 bits. */
    private static long fnv1a(byte[] bytes) {
        long hash = 0xcbf2_9ce4_8422_2325L;
        for (byte one : bytes) {
            hash = (hash ^ one & 0xff) * 0x0000_0100_0000_01b3L;
        }
        return hash;
    }

    /** The finaliser of splitmix64. */
    private static long mix(long number) {
        long mixed = number + 0x9e37_79b9_7f4a_7c15L;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58_476d_1ce4_e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d0_49bb_1331_11ebL;
        return mixed ^ mixed >>> 31;
    }
}
