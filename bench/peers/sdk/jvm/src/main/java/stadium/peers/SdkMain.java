// Starts one program of the rows of the JVM: `PEER-server`, `PEER-client` or `stadium-worker`, with
// the arguments of bench/README.md.
package stadium.peers;

import java.util.Arrays;

public final class SdkMain {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            throw new IllegalArgumentException("a program is needed, for example stadium-server");
        }
        Arguments rest = new Arguments(Arrays.copyOfRange(arguments, 1, arguments.length));
        switch (arguments[0]) {
            case "stadium-server" -> StadiumEcho.serve(rest);
            case "stadium-client" -> Load.run(rest, new StadiumEcho.Client());
            case "stadium-worker" -> StadiumWorker.run(rest);
            case "netty-server" -> NettyEcho.serve(rest);
            case "netty-client" -> Load.run(rest, new NettyEcho.Client());
            case "grpc-server" -> GrpcEcho.serve(rest);
            case "grpc-client" -> Load.run(rest, new GrpcEcho.Client());
            default -> throw new IllegalArgumentException("no such program: " + arguments[0]);
        }
    }
}
