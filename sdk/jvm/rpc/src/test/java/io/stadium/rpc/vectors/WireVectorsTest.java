package io.stadium.rpc.vectors;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.ApplicationError;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Cancelled;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unknown;
import io.stadium.rpc.wire.Answers;
import io.stadium.rpc.wire.CallMetadata;
import io.stadium.rsocket.metadata.Authentication;
import io.stadium.rsocket.metadata.CompositeMetadata;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Metadata and answers look as the scripts of proto/vectors say. */
class WireVectorsTest {
    @Test
    void errorFramesMeanWhatTheScriptSays() {
        // The others are of a server.
        Script.check("rpc-answers.json", Set.of("write", "pass_on"), config -> step -> read(step));
    }

    private static Object read(JsonNode step) {
        String text = step.has("text") ? step.path("text").asText()
                : new String(Script.bytes(step.path("data_hex").asText()), StandardCharsets.UTF_8);
        RpcException answer = Answers.read((int) step.path("error_code").asLong(), text, false);
        Map<String, Object> fields;
        if (answer instanceof Busy busy) {
            BigInteger ms = BigInteger.valueOf(busy.retryAfter().getSeconds())
                    .multiply(BigInteger.valueOf(1_000))
                    .add(BigInteger.valueOf(busy.retryAfter().getNano() / 1_000_000));
            return Script.fields("answer", "busy", "retry_after_ms", ms, "reason", busy.reason(),
                    "instance", Script.fields("busy_ms", Answers.retryAfterMs(busy)));
        } else if (answer instanceof Rejected rejected) {
            fields = Script.fields("answer", "rejected", "code", rejected.code(), "reason",
                    rejected.reason());
        } else if (answer instanceof Unknown unknown) {
            fields = Script.fields("answer", "unknown", "code", unknown.code(), "reason",
                    unknown.reason());
        } else if (answer instanceof ApplicationError error) {
            fields = Script.fields("answer", "application", "error_code",
                    error.number() & 0xffffffffL, "text", error.text());
        } else if (answer instanceof DeadlineExceeded) {
            return Script.fields("answer", "deadline", "instance", "deadline");
        } else if (answer instanceof Cancelled) {
            fields = Script.fields("answer", "cancelled");
        } else {
            throw new IllegalStateException(answer);
        }
        fields.put("instance", "answered");
        return fields;
    }

    @Test
    void entriesOfMetadataAreThoseOfTheScript() {
        // The others are of a server.
        Script.check("rpc-metadata.json", Set.of("request", "setup"), config -> step ->
                step.path("do").asText().equals("load") ? load(step) : encode(step));
    }

    private static Object encode(JsonNode step) {
        ByteBuf out = Unpooled.buffer();
        for (JsonNode entry : step.path("entries")) {
            String kind = entry.fieldNames().next();
            JsonNode value = entry.get(kind);
            switch (kind) {
                case "route" -> CallMetadata.route(out, value.asText());
                case "left_ms" -> CallMetadata.deadline(out, value.asLong());
                case "key_hex" -> CallMetadata.key(out, Script.bytes(value.asText()));
                case "bearer" -> CallMetadata.bearer(out, value.asText());
                case "simple" -> Authentication.write(out, new Authentication.Simple(
                        value.path("username").asText(), value.path("password").asText()));
                case "peer" -> CallMetadata.peer(out);
                default -> {
                    // Loads are written by servers.
                    return Script.SKIPPED;
                }
            }
        }
        return Script.fields("hex", ByteBufUtil.hexDump(out));
    }

    private static Object load(JsonNode step) {
        ByteBuf metadata = Unpooled.wrappedBuffer(Script.bytes(step.path("hex").asText()));
        long load = Answers.readLoad(
                new CompositeMetadata().reset(metadata, 0, metadata.readableBytes()), metadata);
        return load == Answers.NO_LOAD ? Script.fields("load_factor", null)
                : Script.fields("load_factor", Answers.factor(load), "quiescing",
                        Answers.isQuiescing(load));
    }
}
