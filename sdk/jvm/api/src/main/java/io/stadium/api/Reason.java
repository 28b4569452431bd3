package io.stadium.api;

/** The reason of a failed job, as the history takes it. */
final class Reason {
    /** Bytes of a reason that the history keeps. */
    private static final int BYTES_MAX = 1_024;

    private Reason() {}

    /**
     * A text without control characters, and not too long. An unpaired surrogate becomes a question
     * mark.
     */
    static String of(String text) {
        StringBuilder reason = new StringBuilder();
        int bytes = 0;
        for (int at = 0; at < text.length();) {
            int character = text.codePointAt(at);
            at += Character.charCount(character);
            if (character < 0x20 || character == 0x7F) {
                character = ' ';
            } else if (character >= 0xD800 && character <= 0xDFFF) {
                character = '?';
            }
            bytes += character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
            if (bytes > BYTES_MAX) {
                break;
            }
            reason.appendCodePoint(character);
        }
        return reason.toString();
    }
}
