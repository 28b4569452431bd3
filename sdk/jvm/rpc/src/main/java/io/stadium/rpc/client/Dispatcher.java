package io.stadium.rpc.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.Method;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.balance.Balancer;
import io.stadium.rpc.balance.Hashes;
import io.stadium.rpc.balance.Hedge;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.connection.RequestError;
import io.stadium.rsocket.frame.Interaction;

/**
 * From a call to its attempts: where each goes, when the next is due, and when there is none.
 *
 * <p>A call is sent, or waits for a connection, or waits for a time.
 */
final class Dispatcher {
    /** How long a call waits where its connection has as many streams as it may. */
    private static final long FULL_CONNECTION_WAIT_US = 5_000;

    /** How long a call waits for a lease at least and at most. */
    private static final long LEASE_WAIT_MIN_US = 5_000;

    private static final long LEASE_WAIT_MAX_US = 1_000_000;

    /** How long a call whose copy the budget refused waits to ask again. */
    private static final long HEDGE_AGAIN_US = 20_000;

    private final ClientLoop loop;
    private final Settings settings;
    private final TimerWheel wheel;

    /** For the metadata of one request. */
    private final ByteBuf scratch = Unpooled.buffer(256);

    /** For the instances that one attempt avoids. */
    final int[] avoided = new int[Call.AVOIDED_MAX];

    Dispatcher(ClientLoop loop) {
        this.loop = loop;
        settings = loop.settings;
        wheel = loop.wheel;
    }

    /** Begins a call. */
    void begin(Call call) {
        Route route = call.route;
        if (route.ofLoop == null) {
            route.ofLoop = loop.service(route.service);
        }
        long nowUs = loop.nowUs();
        call.beganUs = nowUs;
        CallOptions options = call.options;
        if (options != null && options.deadline() != null) {
            call.deadlineUs = nowUs + options.deadline().toNanos() / 1_000;
        } else if (!call.isStream()) {
            call.deadlineUs = nowUs + settings.deadlineUs;
        }
        if (route.hedge != null && route.method.interaction() == Interaction.REQUEST_RESPONSE
                && call.key() == null) {
            long waitUs = route.hedge.called();
            if (waitUs != Hedge.NEVER) {
                call.hedgeUs = nowUs + waitUs;
            }
        }
        route.ofLoop.budget.called();
        arm(call);
        dispatch(call, 0);
    }

    /** Has the wheel look at a call when it is due next. */
    private void arm(Call call) {
        wheel.disarm(call);
        long dueUs = call.dueUs();
        if (dueUs != TimerWheel.NEVER) {
            loop.armed(wheel.arm(call, dueUs));
        }
    }

    /** Has a call sent again at a time. */
    void waitUntil(Call call, long atUs) {
        call.extra().againUs = atUs;
        arm(call);
    }

    /** Sends an attempt to the instance that is best now, or has the call wait. */
    void dispatch(Call call, int which) {
        Service service = call.route.ofLoop;
        int instance = choose(service.balancer, call, which);
        if (instance == Balancer.NONE) {
            if (which == 0) {
                service.waitForConnection(call);
            }
            return;
        }
        Link link = service.pool(instance).pick();
        if (link != null) {
            send(call, which, link);
        } else if (which == 0) {
            service.connect(instance);
            service.waitForConnection(call);
        }
    }

    private int choose(Balancer balancer, Call call, int which) {
        long nowUs = loop.nowUs();
        byte[] key = call.key();
        if (key != null) {
            // A key stays with its instance; the balancer moves it when that one is lost.
            return balancer.chooseByKey(nowUs, Hashes.hash(key), avoided, 0);
        }
        if (call.isFresh()) {
            return balancer.choose(nowUs, avoided, 0);
        }
        int elsewhere = balancer.choose(nowUs, avoided, call.avoided(avoided));
        // A copy only makes sense elsewhere; another attempt is better than none.
        return elsewhere != Balancer.NONE || which == 1
                ? elsewhere : balancer.choose(nowUs, avoided, 0);
    }

    /** Whether another instance than those at which a call has failed is connected. */
    boolean isPossibleElsewhere(Call call) {
        Balancer balancer = call.route.ofLoop.balancer;
        return call.key() == null
                && balancer.choose(loop.nowUs(), avoided, call.avoided(avoided)) != Balancer.NONE
                && balancer.isConnected();
    }

    @SuppressWarnings("unchecked")
    private void send(Call call, int which, Link link) {
        Method<?, ?> method = call.route.method;
        long nowUs = loop.nowUs();
        ByteBuf metadata = call.route.metadata(call, nowUs, scratch);
        int result;
        try {
            result = link.rsocket.request(
                    method.interaction(), call.initialRequestN(),
                    call.completes() ? Completion.COMPLETE : Completion.OPEN,
                    which == 0 ? call : call.extra(), metadata, call.request,
                    (PayloadWriter<Object>) (PayloadWriter<?>) method.requests());
        } catch (RuntimeException e) {
            loop.answers.end(call, new Rejected("RPC-004",
                    "the request cannot be written: " + e));
            return;
        }
        if (result > 0) {
            call.made++;
            if (method.interaction() == Interaction.FIRE_AND_FORGET) {
                loop.answers.end(call, null);
                return;
            }
            call.sent(which, link, result, nowUs);
            if (call.deadlineUs == TimerWheel.NEVER && call.extra != null) {
                call.extra.againUs = TimerWheel.NEVER;
                arm(call);
            }
            call.route.ofLoop.balancer.began(link.instance(), nowUs);
            call.onSent();
            return;
        }
        notSent(call, which, link, RequestError.of(result));
    }

    private void notSent(Call call, int which, Link link, RequestError error) {
        switch (error) {
            case TOO_LARGE -> loop.answers.end(call, CallEnds.tooLarge());
            case NO_LEASE -> {
                if (which == 0) {
                    long waitUs = Math.min(Math.max(link.leaseWaitUs(), LEASE_WAIT_MIN_US),
                            LEASE_WAIT_MAX_US);
                    waitUntil(call, loop.nowUs() + waitUs);
                }
            }
            case STREAMS_MAX -> {
                if (which == 0) {
                    waitUntil(call, loop.nowUs() + FULL_CONNECTION_WAIT_US);
                }
            }
            default -> {
                call.route.ofLoop.retire(link);
                if (which == 0) {
                    dispatch(call, 0);
                }
            }
        }
    }

    /** Something of a call is due. The wheel has let go of it. */
    void fire(Call call) {
        long nowUs = loop.nowUs();
        if (nowUs >= call.deadlineUs) {
            loop.answers.expire(call);
            return;
        }
        if (call.hedgeUs <= nowUs) {
            call.hedgeUs = TimerWheel.NEVER;
            boolean isOnce = call.link != null && call.linkOf(1) == null;
            if (isOnce && call.route.hedge.take(nowUs)) {
                dispatch(call, 1);
            } else if (isOnce) {
                // The budget is spent; it may not be when the call has taken still longer.
                call.hedgeUs = nowUs + HEDGE_AGAIN_US;
            }
        }
        if (!call.isEnded && call.againUs() <= nowUs) {
            if (call.isWaiting && call.deadlineUs == TimerWheel.NEVER) {
                loop.answers.expire(call);
                return;
            }
            call.extra.againUs = TimerWheel.NEVER;
            dispatch(call, 0);
        }
        if (!call.isEnded) {
            arm(call);
        }
    }
}
