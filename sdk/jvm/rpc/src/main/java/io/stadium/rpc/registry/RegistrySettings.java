package io.stadium.rpc.registry;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * Where a registry is and how it is used.
 *
 * @param members {@code HOST:PORT} of the backend's members, at least one
 * @param prefix the root of the tree, which begins with {@code /} and does not end with it
 * @param user the login, where authentication is on; otherwise {@code null}
 * @param password its password, or {@code null}
 * @param sessionTtl how long a registration outlives its process, 1 s to 10 minutes. The backend
 *     has a minimum of its own: etcd 1.5 election timeouts, ZooKeeper two ticks
 * @param refresh the time between two comparisons with the backend that nothing asked for, 1 s to
 *     1 hour
 */
public record RegistrySettings(
        List<String> members,
        String prefix,
        String user,
        String password,
        Duration sessionTtl,
        Duration refresh) {
    /**
     * Checks the bounds.
     *
     * @param members the members
     * @param prefix the root of the tree
     * @param user the login
     * @param password its password
     * @param sessionTtl how long a registration outlives its process
     * @param refresh the time between two comparisons
     * @throws IllegalArgumentException a value is out of its bounds
     */
    public RegistrySettings {
        members = List.copyOf(members);
        for (String member : members) {
            if (!member.matches(".+:[0-9]{1,5}")) {
                throw new IllegalArgumentException("a member is HOST:PORT, not " + member);
            }
        }
        if (members.isEmpty() || !prefix.matches("(/[^/]+)+")) {
            throw new IllegalArgumentException(
                    "a registry needs members and a root such as /services: " + members + ", "
                            + prefix);
        }
        check("sessionTtl", sessionTtl, Duration.ofSeconds(1), Duration.ofMinutes(10));
        check("refresh", refresh, Duration.ofSeconds(1), Duration.ofHours(1));
        if ((user == null) != (password == null)) {
            throw new IllegalArgumentException("a user has a password");
        }
    }

    /**
     * The settings of a URL: root {@code /services}, no login, a life of 10 s, a comparison each
     * 60 s.
     *
     * @param url {@code SCHEME://HOST:PORT,..}
     * @param scheme the scheme that the backend has
     * @return the settings
     * @throws IllegalArgumentException the URL has another form
     */
    public static RegistrySettings of(String url, String scheme) {
        String start = scheme + "://";
        if (!url.startsWith(start)) {
            throw new IllegalArgumentException("a URL is " + start + "HOST:PORT,.. , not " + url);
        }
        return new RegistrySettings(
                List.of(url.substring(start.length()).split(",")), "/services", null, null,
                Duration.ofSeconds(10), Duration.ofSeconds(60));
    }

    /**
     * The same settings with another root.
     *
     * @param root begins with {@code /}
     * @return other settings
     */
    public RegistrySettings withPrefix(String root) {
        return new RegistrySettings(members, root, user, password, sessionTtl, refresh);
    }

    /**
     * The same settings with a login.
     *
     * @param name the user
     * @param secret the password
     * @return other settings
     */
    public RegistrySettings withLogin(String name, String secret) {
        return new RegistrySettings(
                members, prefix, Objects.requireNonNull(name), Objects.requireNonNull(secret),
                sessionTtl, refresh);
    }

    /**
     * The same settings with another life of registrations.
     *
     * @param ttl 1 s to 10 minutes
     * @return other settings
     */
    public RegistrySettings withSessionTtl(Duration ttl) {
        return new RegistrySettings(members, prefix, user, password, ttl, refresh);
    }

    /** Hides the password. */
    @Override
    public String toString() {
        return "RegistrySettings[members=" + members + ", prefix=" + prefix + ", user=" + user
                + "]";
    }

    /**
     * The time between two signs of life.
     *
     * @return a third of {@code sessionTtl}
     */
    public Duration beat() {
        return sessionTtl.dividedBy(3);
    }

    /**
     * The longest that a request to the backend may take.
     *
     * @return a beat, at most 5 s
     */
    public Duration timeout() {
        Duration most = Duration.ofSeconds(5);
        return beat().compareTo(most) < 0 ? beat() : most;
    }

    private static void check(String name, Duration value, Duration min, Duration max) {
        if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw new IllegalArgumentException(
                    name + " must be between " + min + " and " + max + ", not " + value);
        }
    }
}
