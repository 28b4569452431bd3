package io.stadium.rpc.server;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.DescriptorProtos.MethodDescriptorProto;
import com.google.protobuf.DescriptorProtos.MethodOptions.IdempotencyLevel;
import com.google.protobuf.DescriptorProtos.ServiceDescriptorProto;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rpc.server.Counts.Figure;
import io.stadium.rpc.server.Service.Kind;
import io.stadium.rsocket.frame.Interaction;
import java.time.Duration;
import java.util.List;

/**
 * The routes that every service answers: health, describe, statistics, quiesce, log level. They are
 * inline functions, and are answered also when the service is full.
 */
final class Traits {
    private static final int SERVING = 1;
    private static final int QUIESCING = 2;

    /** The levels of LogLevelRequest, by their numbers. */
    private static final List<String> LEVELS =
            List.of("", "error", "warn", "info", "debug", "trace", "off");

    private final RpcServer server;

    private Traits(RpcServer server) {
        this.server = server;
    }

    /** Adds the traits of each service to a server's routes. */
    static void add(RpcServer server, List<Service> services, Route.Table routes) {
        Traits traits = new Traits(server);
        for (int nth = 0; nth < services.size(); nth++) {
            Service service = services.get(nth);
            int place = nth;
            byte[] description = describe(service);
            traits.add(routes, service, place, "health", (call, request) -> traits.health());
            traits.add(routes, service, place, "describe", (call, request) -> description);
            traits.add(routes, service, place, "statistics",
                    (call, request) -> traits.statistics(place));
            traits.add(routes, service, place, "quiesce", traits::quiesce);
            traits.add(routes, service, place, "log-level", traits::logLevel);
        }
    }

    private void add(
            Route.Table routes, Service service, int place, String name,
            Functions.Unary<byte[], byte[]> function) {
        Method<byte[], byte[]> method =
                Method.unary(service.name() + "/" + name, Codec.BYTES, Codec.BYTES);
        routes.add(new Service.Served(method, Kind.INLINE, function), place, true,
                service.interceptors());
    }

    private byte[] health() {
        return Wire.message(out -> out.number(1, server.isQuiescing() ? QUIESCING : SERVING));
    }

    private byte[] quiesce(Call call, byte[] request) throws Refusal {
        server.settings().operators.authorise(call);
        long withinMs = Wire.number(request, 1);
        long inflight = server.sum(Figure.INFLIGHT);
        server.quiesce(withinMs == 0 ? Duration.ofMillis(server.settings().quiesceWithinMs)
                : Duration.ofMillis(withinMs));
        return Wire.message(out -> out.number(1, inflight));
    }

    private byte[] logLevel(Call call, byte[] request) throws Refusal {
        server.settings().operators.authorise(call);
        LogLevels levels = server.settings().logLevels;
        if (levels == null) {
            throw Refusal.rejected(
                    "RPC-010", "this server's log level cannot be changed at run time");
        }
        long wanted = Wire.number(request, 1);
        String level = wanted > 0 && wanted < LEVELS.size() ? LEVELS.get((int) wanted) : null;
        int inForce = Math.max(LEVELS.indexOf(levels.level(level)), 0);
        return Wire.message(out -> out.number(1, inForce));
    }

    private byte[] statistics(int service) {
        List<Counts> loops = server.counts();
        return Wire.message(out -> {
            for (Route route : server.routes().all()) {
                if (route.service == service && !route.isTrait) {
                    out.embedded(1, one -> method(one, route, loops));
                }
            }
            long load = loops.stream()
                    .mapToLong(counts -> counts.figure(Figure.LOAD_THOUSANDTHS)).max().orElse(0);
            out.number(2, server.sum(Figure.INFLIGHT))
                    .number(3, server.sum(Figure.LIMIT))
                    .number(4, server.sum(Figure.QUEUED))
                    .real(5, load / 1_000f)
                    .number(6, server.sum(Figure.CONNECTIONS))
                    .number(7, server.sum(Figure.STREAMS))
                    .number(8, server.uptimeMs())
                    .number(9, server.refusedConnections())
                    .number(10, server.sum(Figure.CUT_UNFINISHED))
                    .number(11, server.sum(Figure.CUT_SLOW));
        });
    }

    private static void method(Wire out, Route route, List<Counts> loops) {
        out.text(1, route.name)
                .number(2, sum(loops, route, Outcome.OK))
                .number(3, sum(loops, route, Outcome.BUSY))
                .number(4, sum(loops, route, Outcome.REJECTED))
                .number(5, sum(loops, route, Outcome.EXPIRED))
                .number(6, sum(loops, route, Outcome.CANCELLED))
                .number(7, Counts.quantile(loops, route.index, 0.5))
                .number(8, Counts.quantile(loops, route.index, 0.99))
                .number(9, sum(loops, route, Outcome.FAILED));
    }

    private static long sum(List<Counts> loops, Route route, Outcome outcome) {
        return loops.stream().mapToLong(counts -> counts.count(route.index, outcome)).sum();
    }

    private static byte[] describe(Service service) {
        return Wire.message(out -> {
            out.text(1, service.name()).text(2, service.version());
            for (Service.Served served : service.served()) {
                Method<?, ?> method = served.method();
                MethodDescriptorProto known = find(service.descriptors(), method.route());
                boolean isIdempotent = method.isIdempotent()
                        || known.getOptions().getIdempotencyLevel()
                                != IdempotencyLevel.IDEMPOTENCY_UNKNOWN;
                out.embedded(3, one -> one.text(1, method.route())
                        .number(2, number(method.interaction()))
                        .number(3, isIdempotent ? 1 : 0)
                        .text(4, type(known.getInputType()))
                        .text(5, type(known.getOutputType())));
            }
            out.bytes(4, service.descriptors().toByteArray());
        });
    }

    private static int number(Interaction interaction) {
        return switch (interaction) {
            case REQUEST_RESPONSE -> 1;
            case FIRE_AND_FORGET -> 2;
            case REQUEST_STREAM -> 3;
            case REQUEST_CHANNEL -> 4;
        };
    }

    private static String type(String name) {
        return name.startsWith(".") ? name.substring(1) : name;
    }

    /**
     * The method of a route. Several services may have a method of that name: the one is meant that
     * is called as in the route, and where none is, the first.
     */
    private static MethodDescriptorProto find(FileDescriptorSet set, String route) {
        int slash = route.lastIndexOf('/');
        String service = route.substring(0, slash).replace("_", "");
        MethodDescriptorProto first = null;
        for (FileDescriptorProto file : set.getFileList()) {
            for (ServiceDescriptorProto one : file.getServiceList()) {
                for (MethodDescriptorProto method : one.getMethodList()) {
                    if (!method.getName().equals(route.substring(slash + 1))) {
                        continue;
                    }
                    if (one.getName().equalsIgnoreCase(service)) {
                        return method;
                    }
                    first = first == null ? method : first;
                }
            }
        }
        return first == null ? MethodDescriptorProto.getDefaultInstance() : first;
    }
}
