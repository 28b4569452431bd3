package io.stadium.rpc.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rpc.server.Service.Kind;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.frame.Interaction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One route of a server: the method, its function, and its place among the counts. */
final class Route {
    final String name;
    final ByteBuf utf8;
    final int service;
    final int index;
    final Interaction interaction;
    final Kind kind;

    /** Of the interface of {@link Functions} that the kind has. */
    final Object function;

    final Codec<Object> requests;
    final Codec<Object> answers;

    /** Answered also when the service is full. */
    final boolean isTrait;

    /** Empty where there are none. */
    final Interceptor[] interceptors;

    @SuppressWarnings("unchecked")
    private Route(
            Service.Served served, int service, int index, boolean isTrait,
            Interceptor[] interceptors) {
        Method<?, ?> method = served.method();
        name = method.route();
        utf8 = Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(
                name.getBytes(StandardCharsets.UTF_8)));
        this.service = service;
        this.index = index;
        interaction = method.interaction();
        kind = served.kind();
        function = served.function();
        requests = (Codec<Object>) method.requests();
        answers = (Codec<Object>) method.answers();
        this.isTrait = isTrait;
        this.interceptors = interceptors;
    }

    @SuppressWarnings("unchecked")
    <F> F function() {
        return (F) function;
    }

    /** Whether a request of that interaction may call it. */
    boolean takes(Interaction called) {
        return called == interaction
                || called == Interaction.FIRE_AND_FORGET
                        && interaction == Interaction.REQUEST_RESPONSE;
    }

    /** All routes of a server, shared by its loops. */
    static final class Table {
        private final Map<String, Route> byName = new HashMap<>();
        private final List<Route> routes = new ArrayList<>();

        void add(Service.Served served, int service, boolean isTrait, List<Interceptor> around) {
            Route route = new Route(
                    served, service, routes.size(), isTrait, around.toArray(new Interceptor[0]));
            if (byName.putIfAbsent(route.name, route) != null) {
                throw new IllegalArgumentException(
                        "the route " + route.name + " is served twice");
            }
            routes.add(route);
        }

        List<Route> all() {
            return routes;
        }
    }

    /** Finds routes for one loop: calls of one method often follow each other. */
    static final class Finder {
        private final Map<String, Route> byName;
        private Route recent;

        Finder(Table table) {
            byName = table.byName;
        }

        /** The route that the metadata names, or {@code null}. */
        Route find(RequestMetadata metadata) {
            Route last = recent;
            if (last != null && metadata.isRoute(last.utf8)) {
                return last;
            }
            Route found = metadata.hasRoute() ? byName.get(metadata.route()) : null;
            if (found != null) {
                recent = found;
            }
            return found;
        }
    }
}
