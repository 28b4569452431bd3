package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.StringValue;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rpc.Scripts;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.connection.SetupOptions;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.metadata.Authentication;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.metadata.Routing;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.StreamHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A real server reads the requests of rpc-metadata.json, and pushes its load as written there. */
@Timeout(300)
class MetadataVectorsTest {
    private static ObjectNode seen;

    private static StringValue note(Call call, StringValue request) {
        ObjectNode view = Scripts.JSON.createObjectNode();
        Authentication authentication = call.authentication().orElse(null);
        if (authentication instanceof Authentication.Bearer bearer) {
            view.putObject("authentication").put("bearer", bearer.token());
        } else if (authentication instanceof Authentication.Simple simple) {
            view.putObject("authentication")
                    .put("password", simple.password()).put("username", simple.username());
        } else {
            view.putNull("authentication");
        }
        view.put("key_hex", call.key().map(ByteBufUtil::hexDump).orElse(null));
        view.put("left_ms", call.timeLeft().toMillis());
        view.put("route", call.route());
        seen = view;
        return request;
    }

    @Test
    void aServerReadsRequestsAsTheScript() throws Exception {
        Codec<StringValue> text = Codec.protobuf(StringValue.parser());
        Service geo = Service.builder("geo", "1")
                .inline(Method.unary("geo/Last", text, text), MetadataVectorsTest::note)
                .streaming(Method.stream("geo/Near", text, text), (call, request, out) -> {})
                .build();
        int requests = 0;
        try (RpcServer server = RpcServer.builder().listen("127.0.0.1", 0).service(geo)
                .inlineWaitMax(java.time.Duration.ofSeconds(30)).start()) {
            for (Scripts.Case script : Scripts.cases("rpc-metadata.json")) {
                SetupOptions setup = new SetupOptions(
                        script.config().get("metadata_mime").asText(),
                        SetupOptions.DEFAULT.dataMimeType(), null, null);
                try (Caller caller = new Caller(server, Config.DEFAULT, setup, null)) {
                    for (JsonNode step : script.steps()) {
                        if (step.get("do").asText().equals("request")) {
                            requests++;
                            JsonNode answer = request(caller, step);
                            assertEquals(step.get("expect"), Scripts.JSON.readTree(
                                    answer.toString()), () -> script + ": " + step);
                        }
                    }
                }
            }
        }
        assertEquals(57, requests);
    }

    private static JsonNode request(Caller caller, JsonNode step) throws Exception {
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        boolean isStream = step.path("interaction").asText().equals("stream");
        ByteBuf metadata = hex(step.get("metadata_hex"));
        caller.rsocket.execute(() -> caller.rsocket.request(
                isStream ? Interaction.REQUEST_STREAM : Interaction.REQUEST_RESPONSE, 1,
                Completion.COMPLETE, new StreamHandler() {
                    @Override
                    public void onPayload(RSocket rsocket, int stream, Payload payload) {
                        answer.complete(seen);
                    }

                    @Override
                    public void onError(RSocket rsocket, int stream, int code, Payload text) {
                        answer.complete(Scripts.JSON.createObjectNode()
                                .put("code", text.dataUtf8().split(": ")[0])
                                .put("error_code", code));
                    }
                }, metadata, hex(step.path("data_hex")), PayloadWriter.BUFFER));
        return answer.get(Caller.SOON_S, TimeUnit.SECONDS);
    }

    private static ByteBuf hex(JsonNode node) {
        return Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(node.asText("")));
    }

    @Test
    void entriesAndSetupsAreThoseOfTheScript() {
        int steps = 0;
        for (Scripts.Case script : Scripts.cases("rpc-metadata.json")) {
            for (JsonNode step : script.steps()) {
                if (step.get("do").asText().equals("setup")) {
                    steps++;
                    assertEquals(step.get("expect").get("peer").asBoolean(),
                            RequestMetadata.isPeer(hex(step.get("hex"))), step::toString);
                } else if (step.get("do").asText().equals("encode")) {
                    steps++;
                    ByteBuf out = Unpooled.buffer();
                    step.get("entries").forEach(entry -> encode(out, entry));
                    assertEquals(step.get("expect").get("hex").asText(),
                            ByteBufUtil.hexDump(out), step::toString);
                }
            }
        }
        assertEquals(22, steps);
    }

    /** Entries with the MIME types that the server reads; a load as the server writes it. */
    private static void encode(ByteBuf out, JsonNode entry) {
        String kind = entry.fieldNames().next();
        JsonNode value = entry.get(kind);
        switch (kind) {
            case "route" -> Routing.write(out, value.asText());
            case "bearer" -> Authentication.write(out, new Authentication.Bearer(value.asText()));
            case "simple" -> Authentication.write(out, new Authentication.Simple(
                    value.get("username").asText(), value.get("password").asText()));
            case "load" -> RequestMetadata.writeLoad(out,
                    (float) value.get("load_factor").asDouble(),
                    value.get("quiescing").asBoolean());
            default -> {
                int at = CompositeMetadata.begin(out, switch (kind) {
                    case "left_ms" -> RequestMetadata.DEADLINE;
                    case "key_hex" -> RequestMetadata.KEY;
                    default -> RequestMetadata.PEER;
                });
                if (kind.equals("left_ms")) {
                    out.writeInt((int) value.asLong());
                } else if (kind.equals("key_hex")) {
                    out.writeBytes(hex(value));
                }
                CompositeMetadata.end(out, at);
            }
        }
    }
}
