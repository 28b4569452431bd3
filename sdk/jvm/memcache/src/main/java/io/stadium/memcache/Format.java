package io.stadium.memcache;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Converts a program's values to bytes and back.
 *
 * <p>The flags name the conversion that was used; other clients see them too.
 *
 * @param <T> values
 */
public interface Format<T> {
    /** Strings as UTF-8, with flags 0. */
    Format<String> UTF8 = new Format<>() {
        @Override
        public Value write(String value) {
            return new Value(value.getBytes(StandardCharsets.UTF_8), 0, 0);
        }

        @Override
        public String read(byte[] bytes, int flags) throws CharacterCodingException {
            if (flags != 0) {
                throw new IllegalArgumentException("flags "
                        + Integer.toUnsignedString(flags) + " are not those of plain text");
            }
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        }
    };

    /**
     * Writes a value.
     *
     * @param value the program's value
     * @return its bytes and flags; the unique number is ignored
     * @throws Exception the value cannot be written: the operation fails with {@link FormatError}
     */
    Value write(T value) throws Exception;

    /**
     * Reads a value back.
     *
     * @param bytes what was written
     * @param flags its flags
     * @return the program's value
     * @throws Exception bytes or flags are not of this format: the operation fails with
     *     {@link FormatError}
     */
    T read(byte[] bytes, int flags) throws Exception;
}
