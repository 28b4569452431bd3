package io.stadium.memcache.protocol;

/** The commands of a client. */
public enum Command {
    /** Reads a value. */
    GET("get", Verb.READ),
    /** Reads a value with its unique number. */
    GETS("gets", Verb.READ),
    /** Reads a value, and lets the server elect one client to make it anew. */
    LOOKUP("lookup", Verb.READ),
    /** Stores a value. */
    SET("set", Verb.STORE),
    /** Stores a value where there is none. */
    ADD("add", Verb.STORE),
    /** Stores a value where there is one. */
    REPLACE("replace", Verb.STORE),
    /** Puts bytes behind a value. */
    APPEND("append", Verb.STORE),
    /** Puts bytes before a value. */
    PREPEND("prepend", Verb.STORE),
    /** Stores a value where the unique number is still the same. */
    CAS("cas", Verb.STORE),
    /** Removes an item. */
    DELETE("delete", Verb.DELETE),
    /** Marks an item as stale. */
    INVALIDATE("invalidate", Verb.DELETE),
    /** Adds to a number. */
    INCR("incr", Verb.ARITHMETIC),
    /** Subtracts from a number. */
    DECR("decr", Verb.ARITHMETIC),
    /** Sets the expiry. */
    TOUCH("touch", Verb.TOUCH),
    /** Asks for statistics. */
    STATS("stats", Verb.STATISTICS),
    /** Asks for the version. */
    VERSION("version", Verb.VERSION);

    /** The kind of a command, as far as its answer goes. */
    public enum Verb {
        READ, STORE, DELETE, ARITHMETIC, TOUCH, STATISTICS, VERSION
    }

    private final String text;
    private final Verb verb;

    Command(String text, Verb verb) {
        this.text = text;
        this.verb = verb;
    }

    /** The name for metrics. */
    public String text() {
        return text;
    }

    public Verb verb() {
        return verb;
    }

    /** True where it changes something. */
    public boolean isWrite() {
        return verb != Verb.READ && verb != Verb.STATISTICS && verb != Verb.VERSION;
    }
}
