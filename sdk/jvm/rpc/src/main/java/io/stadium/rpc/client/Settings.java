package io.stadium.rpc.client;

import io.netty.handler.ssl.SslContext;
import io.stadium.rpc.balance.BalanceSettings;
import io.stadium.rpc.balance.Hedge;
import io.stadium.rpc.balance.RetryRule;
import io.stadium.rpc.discovery.InstanceSource;

/** The settings of a client, as its builder left them. Times are microseconds unless named. */
final class Settings {
    /** Where instances are found; the client closes it only if it made it. */
    InstanceSource source;

    boolean ownsSource;

    /** The version of services to call; {@code null} for any. */
    String version;

    long deadlineUs = 5_000_000;
    int connectionsPerInstance = 1;
    int subset = 20;
    String zone = "";
    int attempts = 3;

    /** {@code null} for no copies. */
    Hedge.Settings hedge = Hedge.Settings.DEFAULT;

    boolean leases;
    int waitingMax = 10_000;
    long unreachableGraceUs = 1_000_000;

    /** The same while discovery has not answered at all. */
    long discoveryGraceUs = 2_000_000;

    int payloadBytesMax = 16 * 1024 * 1024;
    int busyPollUs = 50;
    int loops = 1;
    String bearer;
    SslContext tls;
    String serverName;
    TraceContext trace;
    ClientListener listener = ClientListener.NONE;
    int keepaliveIntervalMs = 2_000;
    int keepaliveLifetimeMs = 8_000;
    int connectMs = 2_000;

    /** Makes this client's choices differ from other clients'. */
    long seed;

    RetryRule retryRule() {
        return new RetryRule(attempts, RetryRule.DEFAULT.waitMinUs());
    }

    /** The settings of the balancers of a loop. All loops of a client have the same subset. */
    BalanceSettings balance(int loop) {
        BalanceSettings balance = new BalanceSettings();
        balance.client = seed;
        balance.seed = seed + loop;
        balance.subsetSize = subset;
        balance.zone = zone;
        return balance;
    }
}
