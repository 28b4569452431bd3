package io.stadium.rpc.server;

import io.stadium.rsocket.metadata.Authentication;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/**
 * Decides who may use the operating methods of a server's services, {@code NAME/quiesce} and
 * {@code NAME/log-level}. Whoever may can end the server, so nobody may by default.
 */
@FunctionalInterface
public interface Operators {
    /** Nobody: each call is rejected as {@code RPC-012}. */
    Operators NONE = call -> {
        throw Refusal.rejected("RPC-012", call.route() + " is off: this server names no operators");
    };

    /**
     * Lets a caller use an operating method, or refuses it. It runs on the event loop and must not
     * block.
     *
     * @param call the call, valid until the method returns
     * @throws Refusal what the caller is answered
     */
    void authorise(Call call) throws Refusal;

    /**
     * Callers that send a bearer token in their request's authentication metadata. Without TLS
     * everybody who can read the connection learns it.
     *
     * @param token the token; an empty one lets nobody through
     * @return the rule
     */
    static Operators bearer(String token) {
        byte[] expected = token.getBytes(StandardCharsets.UTF_8);
        return call -> {
            Authentication shown = call.authentication().orElse(null);
            boolean isOperator = expected.length > 0
                    && shown instanceof Authentication.Bearer bearer
                    // The comparison takes as long wherever the two differ.
                    && MessageDigest.isEqual(
                            expected, bearer.token().getBytes(StandardCharsets.UTF_8));
            if (!isOperator) {
                throw Refusal.rejected(
                        "RPC-012", call.route() + " needs the operators' bearer token");
            }
        };
    }
}
