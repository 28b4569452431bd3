package io.stadium.api;

import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A selector of devices, such as {@code Selector.and(Selector.tag("vip"),
 * Selector.platform("ios"))}. docs/audiences.md describes all clauses; {@link #ofJson} takes those
 * that have no method here.
 */
public final class Selector {
    private final String json;

    private Selector(String json) {
        this.json = json;
    }

    /**
     * A selector as JSON. The server checks it.
     *
     * @param json such as {@code {"attribute": "score", "greater_than": 10}}
     * @return the selector
     */
    public static Selector ofJson(String json) {
        return new Selector(Objects.requireNonNull(json, "json"));
    }

    /**
     * All devices.
     *
     * @return the selector
     */
    public static Selector all() {
        return new Selector("\"all\"");
    }

    /**
     * Devices with a tag.
     *
     * @param tag such as {@code vip} or {@code loyalty:gold}
     * @return the selector
     */
    public static Selector tag(String tag) {
        return clause("tag", tag);
    }

    /**
     * Devices of a user.
     *
     * @param user the named user
     * @return the selector
     */
    public static Selector user(String user) {
        return clause("named_user", user);
    }

    /**
     * Devices with these ids.
     *
     * @param devices at most 10,000
     * @return the selector
     */
    public static Selector devices(String... devices) {
        String list = Stream.of(devices).map(JsonText::quoted).collect(Collectors.joining(","));
        return new Selector("{\"devices\":[" + list + "]}");
    }

    /**
     * Devices on a static list.
     *
     * @param list its name
     * @return the selector
     */
    public static Selector list(String list) {
        return clause("list", list);
    }

    /**
     * Devices of a platform.
     *
     * @param platform such as {@code ios}
     * @return the selector
     */
    public static Selector platform(String platform) {
        return clause("platform", platform);
    }

    /**
     * Devices of a language.
     *
     * @param language such as {@code de}, which includes {@code de-AT}
     * @return the selector
     */
    public static Selector language(String language) {
        return clause("language", language);
    }

    /**
     * Devices that match all of these.
     *
     * @param selectors the selectors
     * @return the selector
     */
    public static Selector and(Selector... selectors) {
        return group("and", selectors);
    }

    /**
     * Devices that match one of these.
     *
     * @param selectors the selectors
     * @return the selector
     */
    public static Selector or(Selector... selectors) {
        return group("or", selectors);
    }

    /**
     * Devices that do not match.
     *
     * @param selector the selector
     * @return the selector
     */
    public static Selector not(Selector selector) {
        return new Selector("{\"not\":" + selector.json + "}");
    }

    private static Selector clause(String name, String value) {
        return new Selector("{\"" + name + "\":" + JsonText.quoted(value) + "}");
    }

    private static Selector group(String name, Selector... selectors) {
        String list = Stream.of(selectors).map(Selector::json).collect(Collectors.joining(","));
        return new Selector("{\"" + name + "\":[" + list + "]}");
    }

    /**
     * The selector as the server reads it.
     *
     * @return JSON
     */
    public String json() {
        return json;
    }

    @Override
    public String toString() {
        return json;
    }
}
