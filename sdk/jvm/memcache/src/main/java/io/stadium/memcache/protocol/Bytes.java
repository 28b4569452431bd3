package io.stadium.memcache.protocol;

import java.util.Arrays;

/** Bytes that are appended to. Cleared, they keep their room up to a bound. */
public final class Bytes {
    /** The room that is kept. One large value makes it grow further, until it is cleared. */
    private static final int KEPT_BYTES = 256 << 10;

    private static final int FIRST_BYTES = 1 << 10;

    private static final int DIGITS_MAX = 20;

    byte[] array = new byte[FIRST_BYTES];
    int length;

    /** The bytes; those from {@link #length()} on mean nothing. */
    public byte[] array() {
        return array;
    }

    public int length() {
        return length;
    }

    void room(int bytes) {
        if (array.length - length < bytes) {
            array = Arrays.copyOf(array, Math.max(array.length * 2, Math.addExact(length, bytes)));
        }
    }

    void put(int one) {
        room(1);
        array[length++] = (byte) one;
    }

    public void put(byte[] bytes) {
        put(bytes, 0, bytes.length);
    }

    void put(byte[] bytes, int from, int count) {
        room(count);
        System.arraycopy(bytes, from, array, length, count);
        length += count;
    }

    /** Appends a decimal number without a sign. */
    void number(long number) {
        room(DIGITS_MAX);
        if (number < 0) {
            String digits = Long.toUnsignedString(number);
            for (int at = 0; at < digits.length(); at++) {
                array[length++] = (byte) digits.charAt(at);
            }
            return;
        }
        int digits = 1;
        for (long rest = number / 10; rest > 0; rest /= 10) {
            digits++;
        }
        long rest = number;
        for (int at = length + digits - 1; at >= length; at--) {
            array[at] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        length += digits;
    }

    /** Appends a decimal number with a minus where it is negative. */
    void signed(long number) {
        if (number < 0) {
            put('-');
            number(-number);
        } else {
            number(number);
        }
    }

    /** Takes all bytes of another one, which is empty then. */
    void take(Bytes from) {
        if (from.length > 0) {
            put(from.array, 0, from.length);
            from.clear();
        }
    }

    public void clear() {
        length = 0;
        if (array.length > KEPT_BYTES) {
            array = new byte[FIRST_BYTES];
        }
    }
}
