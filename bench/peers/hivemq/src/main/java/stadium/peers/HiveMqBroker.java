// HiveMQ Community Edition as a bench peer, embedded as its documentation shows.
//
// The argument is the folder of config.xml and logback.xml, which bench/src/server.rs writes. HiveMQ
// keeps its data in the folder's `hivemq`. Without an extension it admits every client.
package stadium.peers;

import com.hivemq.configuration.service.InternalConfigurations;
import com.hivemq.embedded.EmbeddedHiveMQ;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletionException;

public final class HiveMqBroker {
    /** QoS 0 messages that wait for a client whose socket is full. HiveMQ drops further ones. */
    private static final int WAITING_MESSAGES_MAX = 100_000;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 1) {
            throw new IllegalArgumentException("usage: HiveMqBroker FOLDER");
        }
        Path folder = Path.of(arguments[0]);
        Path own = folder.resolve("hivemq");
        InternalConfigurations.NOT_WRITABLE_QUEUE_SIZE.set(WAITING_MESSAGES_MAX);
        EmbeddedHiveMQ broker = EmbeddedHiveMQ.builder()
                .withConfigurationFolder(folder)
                .withDataFolder(Files.createDirectories(own.resolve("data")))
                .withExtensionsFolder(Files.createDirectories(own.resolve("extensions")))
                .build();
        try {
            broker.start().join();
        } catch (CompletionException why) {
            // The threads of a broker that has not started would keep the process alive.
            why.printStackTrace();
            System.exit(1);
        }
    }
}
