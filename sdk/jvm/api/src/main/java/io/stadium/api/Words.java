package io.stadium.api;

/**
 * The texts of a notification. They may hold templates such as {@code {{first_name|Hello}}}. Those
 * that are {@code null} are not set.
 *
 * @param title the title
 * @param body the body
 * @param data for the application: one JSON value
 */
public record Words(String title, String body, String data) {
    /**
     * A title and a body.
     *
     * @param title the title
     * @param body the body
     * @return the texts
     */
    public static Words of(String title, String body) {
        return new Words(title, body, null);
    }

    io.stadium.v1.Words message() {
        io.stadium.v1.Words.Builder message = io.stadium.v1.Words.newBuilder();
        if (title != null) {
            message.setTitle(title);
        }
        if (body != null) {
            message.setBody(body);
        }
        if (data != null) {
            message.setData(data);
        }
        return message.build();
    }
}
