// Starts one program of the Java peers: `PEER-server`, `PEER-client`, `PEER-ticks`.
//
// What their arguments mean is in bench/README.md; it is the same for every peer, whatever its language.
package stadium.peers;

import java.util.Arrays;

public final class Main {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            throw new IllegalArgumentException("which program? for example netty-server");
        }
        Arguments rest = new Arguments(Arrays.copyOfRange(arguments, 1, arguments.length));
        switch (arguments[0]) {
            case "netty-server" -> NettyEcho.serve(rest);
            case "netty-client" -> Load.run(rest, new NettyEcho.Client());
            case "rsocket-server" -> RSocketEcho.serve(rest);
            case "rsocket-client" -> Load.run(rest, new RSocketEcho.Client());
            case "kryonet-server" -> KryoEcho.serve(rest);
            case "kryonet-client" -> Load.run(rest, new KryoEcho.Client());
            case "grpc-server" -> GrpcEcho.serve(rest);
            case "grpc-client" -> Load.run(rest, new GrpcEcho.Client());
            case "netty-ticks" -> NettyTicks.serve(rest);
            case "rsocket-ticks" -> RSocketTicks.serve(rest);
            default -> throw new IllegalArgumentException("no such program: " + arguments[0]);
        }
    }
}
