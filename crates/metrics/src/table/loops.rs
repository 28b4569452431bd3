//! The event loops that hold devices' connections, one series for each loop.

crate::definition::section! { "Event loops"
    LOOP_BUSY = Gauge "loop_busy" in Ratio by "loop": "The part of the last second that a loop worked, 0 to 1",
        rises "The loop has less time left. Near 1, each message waits for those before it.",
        act "Above 0.8 for minutes, add loops where cores are free, else add a node.",
        set by "server.loops";
    LOOP_CONNECTIONS = Gauge "loop_connections" by "loop": "Devices with an open connection on a loop",
        rises "More devices are online. The loop is chosen by the client id, so that loops hold about the same number.",
        act "Nothing, unless one loop holds far more than the others: client ids then come from very few devices.",
        set by "server.loops";
    LOOP_MAILBOX_DEPTH = Gauge "loop_mailbox_depth" by "loop": "Commands waiting in a loop's mailbox",
        rises "Pushes and publishes of other loops come faster than the loop takes them. At the bound, senders get *busy*.",
        act "Push more slowly, or add loops.",
        set by "limits.mailbox_max";
    LOOP_READ = Counter "loop_read" in Bytes by "loop": "Bytes a loop read",
        rises "Devices send more.",
        act "Compare the rate with the capacity of the network interface.",
        set by "limits.bytes_per_second_per_connection";
    LOOP_WRITTEN = Counter "loop_written" in Bytes by "loop": "Bytes a loop wrote",
        rises "More or larger messages leave.",
        act "Compare the rate with the capacity of the network interface. Shorter payloads help most.";
    LOOP_TURNS = Counter "loop_turns" by "loop": "Waits for events that returned",
        rises "The loop wakes more often.",
        act "Nothing: with load it rises more slowly than the events, since each turn takes more of them.";
    LOOP_EVENTS = Counter "loop_events" by "loop": "Events that those waits returned",
        rises "More sockets have something to read or room to write.",
        act "Nothing.";
    LOOP_DELIVERIES = Counter "loop_deliveries" by "loop": "Messages a loop wrote to devices' sockets",
        rises "More messages leave.",
        act "Nothing. Loops that differ much have subscribers that differ much.";
    LOOP_PUBLISHES_IN = Counter "loop_publishes_in" by "loop": "Messages that devices published to a loop",
        rises "Devices publish more.",
        act "Nothing.";
}
