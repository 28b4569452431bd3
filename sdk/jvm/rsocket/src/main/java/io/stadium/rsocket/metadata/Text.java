package io.stadium.rsocket.metadata;

import io.netty.buffer.ByteBuf;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Text that must be UTF-8. */
final class Text {
    private Text() {}

    static String read(ByteBuf buffer, int index, int length) throws MalformedMetadataException {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(buffer.nioBuffer(index,
                    length)).toString();
        } catch (CharacterCodingException e) {
            throw new MalformedMetadataException("metadata holds text that is not UTF-8");
        }
    }
}
