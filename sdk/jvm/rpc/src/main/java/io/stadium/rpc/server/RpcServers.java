package io.stadium.rpc.server;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** Serves until the process is asked to end. */
public final class RpcServers {
    /** Beyond the time that a quiesce may take, until the process ends in any case. */
    private static final Duration END_WITHIN = Duration.ofSeconds(6);

    private RpcServers() {}

    /**
     * Serves until SIGTERM, Ctrl-C, or an operator's quiesce. The server quiesces then, for as long
     * as its setting {@link RpcServerBuilder#quiesceWithin} allows: no call is lost that it has
     * accepted, unless it takes longer.
     *
     * @param builder the settings
     * @throws IOException an address cannot be listened on
     * @throws InterruptedException the thread was interrupted; the server has been closed
     */
    public static void serve(RpcServerBuilder builder) throws IOException, InterruptedException {
        serve(builder, server -> {});
    }

    /**
     * Serves as {@link #serve(RpcServerBuilder)}.
     *
     * @param builder the settings
     * @param started is given the server when it serves
     * @throws IOException an address cannot be listened on
     * @throws InterruptedException the thread was interrupted; the server has been closed
     */
    public static void serve(RpcServerBuilder builder, Consumer<RpcServer> started)
            throws IOException, InterruptedException {
        try (RpcServer server = builder.start()) {
            Thread hook = new Thread(() -> quiesce(server), "stadium-shutdown");
            Runtime.getRuntime().addShutdownHook(hook);
            try {
                started.accept(server);
                server.ended().get();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            } finally {
                try {
                    Runtime.getRuntime().removeShutdownHook(hook);
                } catch (IllegalStateException e) {
                    // The process ends already, and the hook has run.
                }
            }
        }
    }

    /** The process ends when this returns. */
    private static void quiesce(RpcServer server) {
        Duration within = Duration.ofMillis(server.settings().quiesceWithinMs);
        try {
            server.quiesce(within).get(
                    within.plus(END_WITHIN).toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            Dispatcher.LOG.warn("RPC server did not end in time: error={}", e.toString());
        }
    }
}
