package io.stadium.rpc.server;

import java.time.Duration;

/**
 * Runs before and after every function of a service, the framework's routes included: for
 * authentication, limits, metrics. Its methods run on the event loop and must not block.
 */
public interface Interceptor {
    /**
     * A call that has ended.
     *
     * @param route {@code SERVICE/METHOD}
     * @param outcome how it ended
     * @param duration from the reading of the request to its end
     */
    record Finished(String route, Outcome outcome, Duration duration) {}

    /**
     * Lets a call go on, or refuses it.
     *
     * @param call the call, valid until the method returns
     * @throws Refusal what the caller is answered
     */
    default void before(Call call) throws Refusal {}

    /**
     * A call has ended, also one that an interceptor has refused. The first interceptor of a
     * service is notified last.
     *
     * @param finished the end
     */
    default void after(Finished finished) {}
}
