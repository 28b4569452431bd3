package io.stadium.api;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/** A receipt that was read, and its check: docs/audit.md. */
final class ReceiptCheck {
    // The byte in front of what is hashed, which names its kind.
    private static final byte[] LEAF = {0};
    private static final byte[] NODE = {1};
    private static final byte[] CHAIN = {2};
    private static final byte[] SEAL = {4};

    private final long seal;
    private final byte[] root;
    private final List<byte[]> trees;
    private final List<Proof> proofs = new ArrayList<>();

    ReceiptCheck(Object json) {
        ReceiptFields fields = new ReceiptFields(json);
        long version = fields.number("version");
        if (version != 1) {
            throw new InvalidReceipt("the receipt has version "
                    + Long.toUnsignedString(version) + "; known is 1");
        }
        // Labels, which are not proved.
        fields.text("transfer");
        fields.number("shard");
        seal = fields.number("seal");
        root = fields.hash("root");
        trees = fields.hashes("trees");
        for (Object proof : fields.list("proofs")) {
            proofs.add(Proof.read(new ReceiptFields(proof)));
        }
        fields.end();
    }

    ProvedTransfer verify(Set<ByteString> published) {
        String hex = HexFormat.of().formatHex(root);
        if (!published.contains(ByteString.copyFrom(root))) {
            throw new InvalidReceipt("its root " + hex + " is none that was published");
        }
        List<WalletEvent> events = new ArrayList<>();
        for (Proof proof : proofs) {
            if (!published.contains(ByteString.copyFrom(proof.root))
                    && !Arrays.equals(laterRoot(proof), root)) {
                throw new InvalidReceipt("a proof does not lead to the root of seal "
                        + Long.toUnsignedString(seal));
            }
            events.add(WalletEvent.read(proof.event));
        }
        return content(events, hex);
    }

    /** The root of the receipt's seal, from that of an earlier one; {@code null} for none. */
    private byte[] laterRoot(Proof proof) {
        long between = seal - proof.seal;
        if (Long.compareUnsigned(proof.seal, seal) > 0
                || Long.compareUnsigned(between, trees.size()) > 0) {
            return null;
        }
        byte[] later = proof.root;
        for (int at = trees.size() - (int) between; at < trees.size(); at++) {
            later = sealRoot(later, seal - (trees.size() - 1 - at), trees.get(at));
        }
        return later;
    }

    private static byte[] sealRoot(byte[] before, long number, byte[] tree) {
        return Hashes.sha256(SEAL, before, littleEndian(number), tree);
    }

    private static byte[] littleEndian(long number) {
        return ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(number).array();
    }

    /** From a leaf to the root of a tree of so many leaves: RFC 9162, 2.1.3.2. */
    private static byte[] climb(byte[] leaf, long index, long leaves, List<byte[]> path) {
        if (Long.compareUnsigned(index, leaves) >= 0) {
            throw wrongLength();
        }
        byte[] hash = leaf;
        long at = index;
        long last = leaves - 1;
        for (byte[] sister : path) {
            if (last == 0) {
                throw wrongLength();
            }
            if (at % 2 != 0 || at == last) {
                hash = Hashes.sha256(NODE, sister, hash);
                // The last leaf of an odd row goes up alone until it has a sister.
                while (at % 2 == 0 && at != 0) {
                    at >>>= 1;
                    last >>>= 1;
                }
            } else {
                hash = Hashes.sha256(NODE, hash, sister);
            }
            at >>>= 1;
            last >>>= 1;
        }
        if (last != 0) {
            throw wrongLength();
        }
        return hash;
    }

    private static InvalidReceipt wrongLength() {
        return new InvalidReceipt("a path has the wrong length");
    }

    /** An event that stands under the root of a seal. */
    private record Proof(byte[] event, long time, long seal, byte[] root) {
        static Proof read(ReceiptFields fields) {
            byte[] event = fields.bytes("event");
            long time = fields.number("time");
            long seal = fields.number("seal");
            byte[] digest = climb(Hashes.sha256(LEAF, event), fields.number("event_index"),
                    fields.number("events"), fields.hashes("event_path"));
            byte[] chain = Hashes.sha256(
                    CHAIN, fields.hash("chain_before"), digest, littleEndian(time));
            byte[] tree = climb(Hashes.sha256(LEAF, chain), fields.number("record_index"),
                    fields.number("records"), fields.hashes("record_path"));
            byte[] root = sealRoot(fields.hash("root_before"), seal, tree);
            fields.end();
            return new Proof(event, time, seal, root);
        }
    }

    /** The content of the events, which were proved. */
    private ProvedTransfer content(List<WalletEvent> events, String hex) {
        if (events.isEmpty() || !(events.get(0) instanceof WalletEvent.Moved moved)) {
            throw new InvalidReceipt("its first proof is of no transfer");
        }
        WalletEvent.Opened debit = opened(events, moved.debit());
        String credit = moved.credit() == null ? moved.other() == null ? "" : moved.other()
                : name(opened(events, moved.credit()), moved);
        WalletEvent.Asset asset = events.stream()
                .filter(WalletEvent.Asset.class::isInstance).map(WalletEvent.Asset.class::cast)
                .filter(one -> one.asset() == debit.asset()).findFirst()
                .orElseThrow(() -> new InvalidReceipt("nothing proves what the asset is"));
        return new ProvedTransfer(moved.id(), moved.kind(), name(debit, moved), credit,
                asset.code(), asset.scale(), moved.amount(),
                Times.moment(proofs.get(0).time), seal, hex);
    }

    private static WalletEvent.Opened opened(List<WalletEvent> events, long account) {
        return events.stream()
                .filter(WalletEvent.Opened.class::isInstance).map(WalletEvent.Opened.class::cast)
                .filter(one -> one.account() == account).findFirst()
                .orElseThrow(() -> new InvalidReceipt("nothing proves whose account "
                        + Long.toUnsignedString(account) + " is"));
    }

    /** The wallet of an account. An account in transit stands for the wallet of another shard. */
    private static String name(WalletEvent.Opened account, WalletEvent.Moved moved) {
        return account.wallet().equals("@transit") && moved.other() != null
                ? moved.other() : account.wallet();
    }
}
