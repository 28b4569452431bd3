package io.stadium.rpc.registry;

import java.util.Map;

/**
 * A stretch of contact with a backend. All methods are called by the registry's thread, may block
 * for {@link RegistrySettings#timeout}, and throw where the backend does not answer: the registry
 * then ends the session and begins another one.
 *
 * <p>Paths are those below the root: {@code NAME/VERSION/HOST:PORT}.
 */
public interface RegistrySession extends AutoCloseable {
    /** Begins sessions. */
    interface Connector extends AutoCloseable {
        /**
         * Connects to a member that answers.
         *
         * @param events takes what the session hears
         * @return the session
         * @throws Exception no member answered in time
         */
        RegistrySession connect(Events events) throws Exception;

        @Override
        void close();
    }

    /** Takes what a session hears; any thread may call it, and it does not block. */
    interface Events {
        /**
         * An entry is there, or has another value.
         *
         * @param path its path
         * @param value its value
         */
        void put(String path, byte[] value);

        /**
         * An entry was removed, and wrote before that it quiesces.
         *
         * @param path its path
         */
        void left(String path);

        /**
         * An entry was removed.
         *
         * @param path its path
         */
        void removed(String path);

        /**
         * The session is of no use any more.
         *
         * @param why why, for people
         */
        void failed(String why);
    }

    /**
     * Lists the entries of a service, and reports its events from the list on, until the session
     * ends. A second call lists again.
     *
     * @param service the name of the service
     * @return the values by their paths
     * @throws Exception the backend does not answer
     */
    Map<String, byte[]> follow(String service) throws Exception;

    /**
     * Makes an entry there and true, which ends with this process. It is compared first and written
     * if it differs.
     *
     * @param path its path
     * @param value its value
     * @throws Exception the backend does not answer
     */
    void keep(String path, byte[] value) throws Exception;

    /**
     * Writes a last value, then removes the entry, if it is this process's.
     *
     * @param path its path
     * @param goodbye the last value
     * @throws Exception the backend does not answer
     */
    void withdraw(String path, byte[] goodbye) throws Exception;

    /**
     * Gives a sign of life for all entries, and checks that the backend answers.
     *
     * @throws Exception it does not, or an entry has been lost
     */
    void beat() throws Exception;

    @Override
    void close();
}
