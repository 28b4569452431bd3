package io.stadium.api;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** The events of the wallets' journal that a receipt proves: docs/formats/wallet-events.md. */
sealed interface WalletEvent {
    /** An asset was declared. */
    record Asset(long asset, int scale, String code) implements WalletEvent {}

    /** An account was opened. */
    record Opened(long account, long asset, String wallet) implements WalletEvent {}

    /**
     * A transfer of some kind. {@code credit} is {@code null} where it is on another shard;
     * {@code other}, the wallet there, where there is none.
     */
    record Moved(String kind, UUID id, long amount, long debit, Long credit, String other)
            implements WalletEvent {}

    /** An event of another kind, which proves nothing here. */
    record Other() implements WalletEvent {}

    /** Reads an event. */
    static WalletEvent read(byte[] bytes) {
        Reader from = new Reader(ByteBuffer.wrap(bytes));
        WalletEvent event = switch (from.octet()) {
            case 1 -> new Asset(from.number(), from.octet(), from.text());
            case 2 -> from.opened();
            case 4 -> from.transfer();
            case 5 -> from.promise("hold");
            case 6 -> from.promise("void");
            default -> null;
        };
        if (event == null) {
            return new Other();
        }
        if (from.bytes.hasRemaining()) {
            throw new InvalidReceipt("an event goes on behind its end");
        }
        return event;
    }

    /** Reads the fields of an event, one after the other. */
    record Reader(ByteBuffer bytes) {
        private static final int OF = 1;
        private static final int REFERENCE = 2;
        private static final int METADATA = 4;
        private static final int EFFECTIVE = 8;
        private static final int OTHER = 16;
        private static final int OF_GROUP = 32;
        private static final int ALL = 63;
        private static final long[] JUMPS = {64, 4_096, 262_144, 16_777_216};

        Opened opened() {
            long account = number();
            long asset = number();
            if ((flags(7) & 2) != 0) {
                number();
            }
            return new Opened(account, asset, text());
        }

        Moved transfer() {
            int flags = flags(ALL);
            String kind = switch (octet()) {
                case 0 -> "post";
                case 1 -> "capture";
                case 2 -> "reverse";
                default -> throw new InvalidReceipt("a transfer is of no known kind");
            };
            UUID id = head(flags);
            long amount = number();
            long debit = number();
            skipEntry();
            long credit = number();
            skipEntry();
            return new Moved(kind, id, amount, debit, credit, more(flags));
        }

        Moved promise(String kind) {
            int flags = flags(ALL);
            UUID id = head(flags);
            long amount = number();
            long debit = number();
            Long credit = (flags & OTHER) == 0 ? number() : null;
            String other = more(flags);
            if (kind.equals("hold")) {
                number();
            }
            return new Moved(kind, id, amount, debit, credit, other);
        }

        private UUID head(int flags) {
            UUID id = id();
            if ((flags & OF_GROUP) == 0) {
                take(8);
            }
            return id;
        }

        /** The optional fields. Returns the wallet of another shard, or {@code null}. */
        private String more(int flags) {
            if ((flags & OF) != 0) {
                id();
            }
            String other = (flags & OTHER) != 0 ? text() : null;
            if ((flags & REFERENCE) != 0) {
                text();
            }
            if ((flags & METADATA) != 0) {
                take(number());
            }
            if ((flags & EFFECTIVE) != 0) {
                number();
            }
            return other;
        }

        private void skipEntry() {
            long entry = number();
            number();
            number();
            for (long jump : JUMPS) {
                if (Long.remainderUnsigned(entry, jump) == 0) {
                    number();
                }
            }
        }

        private int flags(int known) {
            int flags = octet();
            if ((flags & ~known) != 0) {
                throw new InvalidReceipt("an event has unknown flags");
            }
            return flags;
        }

        private ByteBuffer take(long size) {
            if (size < 0 || size > bytes.remaining()) {
                throw new InvalidReceipt("an event ends too early");
            }
            ByteBuffer taken = bytes.slice(bytes.position(), (int) size);
            bytes.position(bytes.position() + (int) size);
            return taken;
        }

        int octet() {
            return take(1).get() & 0xFF;
        }

        /** LEB128. */
        long number() {
            long number = 0;
            for (int shift = 0; shift < 64; shift += 7) {
                int next = octet();
                if (shift == 63 && next > 1) {
                    break;
                }
                number |= (long) (next & 0x7F) << shift;
                if (next < 0x80) {
                    return number;
                }
            }
            throw new InvalidReceipt("a number of an event has no end");
        }

        String text() {
            ByteBuffer text = take(number());
            try {
                return StandardCharsets.UTF_8.newDecoder().decode(text).toString();
            } catch (CharacterCodingException e) {
                throw new InvalidReceipt("a text of an event is no UTF-8");
            }
        }

        private UUID id() {
            ByteBuffer id = take(16);
            return new UUID(id.getLong(), id.getLong());
        }
    }
}
