package io.stadium.rsocket.metadata;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;

/**
 * Credentials (Authentication Extension). Reading checks the form only: the application decides
 * whether the credentials are right.
 */
public sealed interface Authentication {
    /**
     * A name and a password in clear text.
     *
     * @param username at most 65,535 bytes of UTF-8
     * @param password the rest of the entry
     */
    record Simple(String username, String password) implements Authentication {
        /** Hides the password. */
        @Override
        public String toString() {
            return "Simple[username=" + username + "]";
        }
    }

    /**
     * A bearer token.
     *
     * @param token the token
     */
    record Bearer(String token) implements Authentication {
        /** Hides the token. */
        @Override
        public String toString() {
            return "Bearer[]";
        }
    }

    /**
     * A kind that this class does not read.
     *
     * @param id its well-known id, or -1 where it has a name
     * @param name its name, or {@code null} where it has an id
     * @param content the payload of that kind
     */
    record Other(int id, String name, byte[] content) implements Authentication {}

    /**
     * Reads the content of an authentication entry.
     *
     * @param buffer the buffer that holds it
     * @param index where the content begins
     * @param length its bytes
     * @return the credentials
     * @throws MalformedMetadataException if the content ends before what it announces, or is not
     *     UTF-8
     */
    static Authentication read(ByteBuf buffer, int index, int length)
            throws MalformedMetadataException {
        int end = index + length;
        if (length < 1) {
            throw new MalformedMetadataException("authentication has no type");
        }
        int first = buffer.getUnsignedByte(index);
        int nameLength = first >= 0x80 ? 0 : first + 1;
        int at = index + 1 + nameLength;
        if (at > end) {
            throw new MalformedMetadataException(
                    "the type of authentication ends beyond its entry");
        }
        int id = first >= 0x80 ? first & 0x7F : -1;
        String name = id >= 0 ? null : buffer.toString(index + 1, nameLength,
                StandardCharsets.UTF_8);
        if (id == 0 || "simple".equals(name)) {
            if (end - at < 2 || buffer.getUnsignedShort(at) > end - at - 2) {
                throw new MalformedMetadataException("the user name ends beyond its entry");
            }
            int password = at + 2 + buffer.getUnsignedShort(at);
            return new Simple(
                    Text.read(buffer, at + 2, password - at - 2), Text.read(buffer, password,
                    end - password));
        }
        if (id == 1 || "bearer".equals(name)) {
            return new Bearer(Text.read(buffer, at, end - at));
        }
        return new Other(id, name, ByteBufUtil.getBytes(buffer, at, end - at, true));
    }

    /**
     * Appends an authentication entry.
     *
     * @param out the buffer to append to
     * @param authentication the credentials
     * @throws IllegalArgumentException if a user name has more than 65,535 bytes, or a type's name
     *     not 1 to 128
     */
    static void write(ByteBuf out, Authentication authentication) {
        int start = CompositeMetadata.begin(out, WellKnownMimeType.AUTHENTICATION);
        if (authentication instanceof Simple simple) {
            int bytes = ByteBufUtil.utf8Bytes(simple.username());
            if (bytes > 0xFFFF) {
                throw new IllegalArgumentException("a user name has at most 65535 bytes, not "
                        + bytes);
            }
            out.writeByte(0x80);
            out.writeShort(bytes);
            ByteBufUtil.writeUtf8(out, simple.username());
            ByteBufUtil.writeUtf8(out, simple.password());
        } else if (authentication instanceof Bearer bearer) {
            out.writeByte(0x81);
            ByteBufUtil.writeUtf8(out, bearer.token());
        } else if (authentication instanceof Other other) {
            if (other.name() == null) {
                out.writeByte(0x80 | other.id());
            } else {
                MimeTypes.appendName(out, other.name());
            }
            out.writeBytes(other.content());
        }
        CompositeMetadata.end(out, start);
    }
}
