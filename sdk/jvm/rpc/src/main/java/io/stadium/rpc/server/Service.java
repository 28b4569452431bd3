package io.stadium.rpc.server;

import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.FileDescriptor;
import io.stadium.rpc.Method;
import io.stadium.rsocket.frame.Interaction;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A service: its name and version, and a function for each method.
 *
 * <p>Instances are immutable; a {@link Builder} makes them.
 */
public final class Service {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final Pattern VERSION = Pattern.compile("[A-Za-z0-9._-]{1,32}");

    /** Where a function runs and how it answers. */
    enum Kind {
        INLINE, BLOCKING, ASYNCHRONOUS, STREAMING, PUBLISHING, CHANNEL
    }

    /** A method and its function, which is the interface of {@link Functions} that its kind has. */
    record Served(Method<?, ?> method, Kind kind, Object function) {}

    private final String name;
    private final String version;
    private final List<Served> served;
    private final List<Interceptor> interceptors;
    private final FileDescriptorSet descriptors;

    private Service(Builder builder) {
        name = builder.name;
        version = builder.version;
        served = List.copyOf(builder.served);
        interceptors = List.copyOf(builder.interceptors);
        descriptors = builder.descriptors;
    }

    /**
     * Begins a service without functions.
     *
     * @param name the first half of its routes and its name in discovery: 1 to 64 letters, digits,
     *     {@code .}, {@code _} or {@code -}
     * @param version the version in discovery: 1 to 32 of the same
     * @return a builder
     * @throws IllegalArgumentException the name or the version has another form
     */
    public static Builder builder(String name, String version) {
        return new Builder(name, version);
    }

    /**
     * The name.
     *
     * @return the first half of every route
     */
    public String name() {
        return name;
    }

    /**
     * The version.
     *
     * @return the version in discovery
     */
    public String version() {
        return version;
    }

    List<Served> served() {
        return served;
    }

    List<Interceptor> interceptors() {
        return interceptors;
    }

    FileDescriptorSet descriptors() {
        return descriptors;
    }

    /** Makes a {@link Service}. */
    public static final class Builder {
        private final String name;
        private final String version;
        private final List<Served> served = new ArrayList<>();
        private final Set<String> routes = new LinkedHashSet<>();
        private final List<Interceptor> interceptors = new ArrayList<>();
        private FileDescriptorSet descriptors = FileDescriptorSet.getDefaultInstance();

        private Builder(String name, String version) {
            if (!NAME.matcher(name).matches()) {
                throw new IllegalArgumentException("not the name of a service: " + name);
            }
            if (!VERSION.matcher(version).matches()) {
                throw new IllegalArgumentException("not the version of a service: " + version);
            }
            this.name = name;
            this.version = version;
        }

        /**
         * Answers a unary or one-way method on the event loop, in the turn that read the request.
         * The function must not block, and should take microseconds: all connections of the loop
         * wait for it. A request that waited 10 ms for its turn is answered Busy.
         *
         * @param method the method
         * @param function answers it
         * @param <Q> requests
         * @param <A> answers
         * @return this builder
         * @throws IllegalArgumentException the method is another service's, is served already, or
         *     is a stream or a channel
         */
        public <Q, A> Builder inline(Method<Q, A> method, Functions.Unary<Q, A> function) {
            return add(method, Kind.INLINE, function);
        }

        /**
         * Answers a unary or one-way method on a thread that may block.
         *
         * @param method the method
         * @param function answers it
         * @param <Q> requests
         * @param <A> answers
         * @return this builder
         * @throws IllegalArgumentException as {@link #inline}
         */
        public <Q, A> Builder blocking(Method<Q, A> method, Functions.Unary<Q, A> function) {
            return add(method, Kind.BLOCKING, function);
        }

        /**
         * Answers a unary or one-way method by a stage that completes later.
         *
         * @param method the method
         * @param function begins to answer it, on the event loop
         * @param <Q> requests
         * @param <A> answers
         * @return this builder
         * @throws IllegalArgumentException as {@link #inline}
         */
        public <Q, A> Builder asynchronous(
                Method<Q, A> method, Functions.Asynchronous<Q, A> function) {
            return add(method, Kind.ASYNCHRONOUS, function);
        }

        /**
         * Answers a stream method on a thread that may block.
         *
         * @param method the method
         * @param function sends the answers
         * @param <Q> requests
         * @param <A> answers
         * @return this builder
         * @throws IllegalArgumentException the method is another service's, is served already, or
         *     is no stream
         */
        public <Q, A> Builder streaming(Method<Q, A> method, Functions.Streaming<Q, A> function) {
            return add(method, Kind.STREAMING, function);
        }

        /**
         * Answers a stream method with the elements of a publisher. It takes no thread, so it suits
         * very many streams.
         *
         * @param method the method
         * @param function makes the publisher, on the event loop
         * @param <Q> requests
         * @param <A> answers
         * @return this builder
         * @throws IllegalArgumentException as {@link #streaming}
         */
        public <Q, A> Builder publishing(Method<Q, A> method, Functions.Publishing<Q, A> function) {
            return add(method, Kind.PUBLISHING, function);
        }

        /**
         * Answers a channel on a thread that may block.
         *
         * @param method the method
         * @param function takes the requests and sends the answers
         * @param <Q> requests
         * @param <A> answers
         * @return this builder
         * @throws IllegalArgumentException the method is another service's, is served already, or
         *     is no channel
         */
        public <Q, A> Builder channel(Method<Q, A> method, Functions.Channel<Q, A> function) {
            return add(method, Kind.CHANNEL, function);
        }

        /**
         * Runs an interceptor around each function, within those that were added before.
         *
         * @param interceptor the interceptor
         * @return this builder
         */
        public Builder intercept(Interceptor interceptor) {
            interceptors.add(Objects.requireNonNull(interceptor));
            return this;
        }

        /**
         * Describes the messages, so that {@code NAME/describe} does, and generic clients such as
         * {@code stadium service call} can encode them.
         *
         * @param file the file of the contract; the files that it imports are added
         * @return this builder
         */
        public Builder descriptors(FileDescriptor file) {
            FileDescriptorSet.Builder set = FileDescriptorSet.newBuilder();
            collect(file, new LinkedHashSet<>(), set);
            return descriptors(set.build());
        }

        /**
         * Describes the messages, as {@link #descriptors(FileDescriptor)}.
         *
         * @param set the file of the contract and all files that it imports, those first that
         *     others import
         * @return this builder
         */
        public Builder descriptors(FileDescriptorSet set) {
            descriptors = Objects.requireNonNull(set);
            return this;
        }

        private static void collect(
                FileDescriptor file, Set<String> seen, FileDescriptorSet.Builder set) {
            if (seen.add(file.getName())) {
                file.getDependencies().forEach(one -> collect(one, seen, set));
                set.addFile(file.toProto());
            }
        }

        private Builder add(Method<?, ?> method, Kind kind, Object function) {
            Objects.requireNonNull(function, "function");
            String route = method.route();
            if (!route.startsWith(name + "/")) {
                throw new IllegalArgumentException(
                        "the route " + route + " does not belong to the service " + name);
            }
            if (!fits(kind, method.interaction())) {
                throw new IllegalArgumentException(
                        route + " is " + words(method.interaction())
                                + ", and its function answers otherwise");
            }
            if (!routes.add(route)) {
                throw new IllegalArgumentException("the route " + route + " is served twice");
            }
            served.add(new Served(method, kind, function));
            return this;
        }

        /**
         * Makes the service.
         *
         * @return a new object
         */
        public Service build() {
            return new Service(this);
        }
    }

    private static boolean fits(Kind kind, Interaction interaction) {
        return switch (kind) {
            case INLINE, BLOCKING, ASYNCHRONOUS -> interaction == Interaction.REQUEST_RESPONSE
                    || interaction == Interaction.FIRE_AND_FORGET;
            case STREAMING, PUBLISHING -> interaction == Interaction.REQUEST_STREAM;
            case CHANNEL -> interaction == Interaction.REQUEST_CHANNEL;
        };
    }

    static String words(Interaction interaction) {
        return switch (interaction) {
            case REQUEST_RESPONSE -> "a request with one answer (REQUEST_RESPONSE)";
            case FIRE_AND_FORGET -> "a request without an answer (REQUEST_FNF)";
            case REQUEST_STREAM -> "a request with a stream of answers (REQUEST_STREAM)";
            case REQUEST_CHANNEL -> "streams both ways (REQUEST_CHANNEL)";
        };
    }
}
