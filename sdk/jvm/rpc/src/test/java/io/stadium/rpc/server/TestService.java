package io.stadium.rpc.server;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.MethodDescriptorProto;
import com.google.protobuf.DescriptorProtos.ServiceDescriptorProto;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Int32Value;
import com.google.protobuf.StringValue;
import com.google.protobuf.WrappersProto;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The services that callers in other languages call, in this process or in one of their own. */
final class TestService {
    private static volatile String told = "";

    private TestService() {}

    /** Messages of bytes, for the Python SDK. */
    static Service bytes() {
        AtomicInteger done = new AtomicInteger();
        return Service.builder("test", "1")
                .inline(ServerTest.unary("Echo"), (call, request) -> request)
                .inline(ServerTest.unary("Refuse"), (call, request) -> {
                    switch (ServerTest.text(request)) {
                        case "busy" -> throw Refusal.busy(Duration.ofMillis(120), "queue is full");
                        case "rejected" -> throw Refusal.rejected("GEO-001", "latitude 95");
                        default -> throw new IllegalStateException("secret");
                    }
                })
                .asynchronous(ServerTest.unary("Never"), (call, request) -> {
                    told = "began";
                    call.onCancel(() -> told = "cancelled");
                    return new CompletableFuture<>();
                })
                .asynchronous(ServerTest.unary("Slow"), (call, request) ->
                        CompletableFuture.supplyAsync(() -> request,
                                CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS))
                                .whenComplete((answer, failure) -> done.incrementAndGet()))
                .inline(Method.oneWay("test/Tell", Codec.BYTES), (call, request) -> {
                    told = ServerTest.text(request);
                    return null;
                })
                .inline(ServerTest.unary("Told"), (call, request) -> Caller.bytes(told))
                .inline(ServerTest.unary("Done"), (call, request) -> Caller.bytes("" + done))
                .streaming(ServerTest.stream("Count"), (call, request, out) -> {
                    for (int nth = 0; nth < Integer.parseInt(ServerTest.text(request)); nth++) {
                        out.send(Caller.bytes("" + nth));
                    }
                })
                .channel(Method.channel("test/Talk", Codec.BYTES, Codec.BYTES),
                        (call, in, out) -> {
                            for (byte[] one = in.next(); one != null; one = in.next()) {
                                out.send(Caller.bytes(ServerTest.text(one).toUpperCase()));
                            }
                        })
                .build();
    }

    /** Messages of Protocol Buffers with descriptors, for the CLI. */
    static Service greeter() throws DescriptorValidationException {
        Codec<StringValue> text = Codec.protobuf(StringValue.parser());
        Codec<Int32Value> number = Codec.protobuf(Int32Value.parser());
        FileDescriptorProto contract = FileDescriptorProto.newBuilder()
                .setName("greeter.proto").setPackage("greeter.v1").setSyntax("proto3")
                .addDependency("google/protobuf/wrappers.proto")
                .addService(ServiceDescriptorProto.newBuilder().setName("Greeter")
                        .addMethod(method("Hello", "StringValue", "StringValue", false))
                        .addMethod(method("Count", "Int32Value", "Int32Value", true)))
                .build();
        return Service.builder("greeter", "1")
                .descriptors(FileDescriptor.buildFrom(
                        contract, new FileDescriptor[] {WrappersProto.getDescriptor()}))
                .inline(Method.unary("greeter/Hello", text, text), (call, request) -> {
                    switch (request.getValue()) {
                        case "" -> throw Refusal.rejected("GREETER-001", "a name is needed");
                        case "crowd" -> throw Refusal.busy(Duration.ofMillis(50), "too many");
                        default -> {
                            return StringValue.of("Hello " + request.getValue());
                        }
                    }
                })
                .streaming(Method.stream("greeter/Count", number, number),
                        (call, request, out) -> {
                            for (int nth = 1; nth <= request.getValue(); nth++) {
                                out.send(Int32Value.of(nth));
                            }
                        })
                .build();
    }

    private static MethodDescriptorProto method(
            String name, String request, String answer, boolean isStream) {
        return MethodDescriptorProto.newBuilder().setName(name)
                .setInputType(".google.protobuf." + request)
                .setOutputType(".google.protobuf." + answer)
                .setServerStreaming(isStream).build();
    }

    /** Serves until SIGTERM, and prints the port. */
    public static void main(String[] arguments) throws Exception {
        RpcServers.serve(
                RpcServer.builder().listen("127.0.0.1", 0).service(bytes())
                        .inlineWaitMax(Duration.ofSeconds(30)),
                server -> System.out.println(server.address().getPort()));
    }
}
