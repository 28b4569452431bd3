package io.stadium.api;

/** Texts in JSON. */
final class JsonText {
    private JsonText() {}

    /** A text between quotation marks. */
    static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int at = 0; at < text.length(); at++) {
            char character = text.charAt(at);
            if (character == '"' || character == '\\') {
                json.append('\\').append(character);
            } else if (character < 0x20 || Character.isSurrogate(character)) {
                json.append(String.format("\\u%04x", (int) character));
            } else {
                json.append(character);
            }
        }
        return json.append('"').toString();
    }
}
