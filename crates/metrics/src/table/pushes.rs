//! The push platform and kept sessions, one series for each shard.

crate::definition::section! { "Push platform and kept sessions"
    PUSH_APPS = Gauge "push_apps" by "shard": "Apps",
        rises "Apps were declared. Each shard has all of them.",
        act "Nothing below the bound.",
        set by "push.apps_max";
    PUSH_DEVICES = Gauge "push_devices" by "shard": "Registered devices",
        rises "Devices were registered.",
        act "Remove devices that do not exist any more; nothing below the bound.",
        set by "push.devices_max";
    PUSH_CONNECTED = Gauge "push_connected" by "shard":
        "Registered devices that are connected and read their inbox",
        rises "More devices are online.",
        act "Nothing.";
    PUSH_OWED = Gauge "push_owed" by "shard": "Deliveries that devices are owed",
        rises "Pushes wait for devices that are away, or the edge delivers more slowly than pushes come.",
        act "Give pushes a shorter time to live. If connected devices are owed, look at `stadium_push_in_flight`.",
        set by "push.pushes_bytes_max";
    PUSH_IN_FLIGHT = Gauge "push_in_flight" by "shard": "Deliveries sent and not acknowledged",
        rises "Devices acknowledge more slowly than they are sent to.",
        act "If it stays high without new pushes, devices hang: look at `stadium_closes_total`.",
        set by "limits.inflight_max";
    PUSH_SCHEDULED = Gauge "push_scheduled" by "shard": "Pushes that wait for their time",
        rises "Pushes were made for later.",
        act "Nothing below the bound.",
        set by "push.pushes_max";
    PUSH_SENDING = Gauge "push_sending" by "shard": "Pushes that somebody is owed",
        rises "Pushes wait for devices that are away.",
        act "Give pushes a shorter time to live.",
        set by "push.pushes_max";
    PUSH_SETTLED = Gauge "push_settled" by "shard": "Pushes that nobody is owed any more, remembered",
        rises "Pushes end. At the bound the oldest is forgotten.",
        act "Raise the bound if reports of older pushes are needed.",
        set by "push.pushes_max" "push.pushes_bytes_max";
    PUSH_SCHEDULES = Gauge "push_schedules" by "shard": "Schedules",
        rises "Schedules were declared.",
        act "Nothing below the bound.",
        set by "push.names_max";
    PUSH_AUDIENCES = Gauge "push_audiences" by "shard": "Saved audiences",
        rises "Audiences were saved. Each shard has all of them.",
        act "Nothing below the bound.",
        set by "push.names_max";
    PUSH_STATE = Gauge "push_state" in Bytes by "shard": "Memory of the push platform",
        rises "More devices, tags, attributes or pushes are kept.",
        act "Compare it with `process_resident_memory_bytes`.",
        set by "push.devices_max" "push.pushes_bytes_max";
    SESSION_STATE = Gauge "session_state" in Bytes by "shard": "Memory of kept sessions and retained messages",
        rises "More messages wait for devices that are away, or are retained.",
        act "Lower `limits.session_expiry_s_max` or `limits.session_messages_max`.",
        set by "session.sessions_max" "session.letters_max" "session.retained_bytes_max";
    PUSH_ACCEPTED = Counter "push_accepted" by "shard":
        "Pushes that came, those of schedules and of other shards included",
        rises "Pushes are made. One push counts on each shard that has devices of its audience.",
        act "Nothing.";
    PUSH_TARGETED = Counter "push_deliveries_targeted" by "shard": "Deliveries that were to be made",
        rises "Pushes are made to larger audiences.",
        act "Nothing.";
    PUSH_DISPATCHED = Counter "push_deliveries_dispatched" by "shard": "Deliveries handed to the edge",
        rises "Deliveries leave.",
        act "Nothing.";
    PUSH_ACKNOWLEDGED = Counter "push_deliveries_acknowledged" by "shard":
        "Deliveries that devices acknowledged; at QoS 0: sent",
        rises "Devices have their pushes.",
        act "Compare its rate with `stadium_push_deliveries_dispatched_total`.";
    PUSH_REFUSED = Counter "push_deliveries_refused" by "shard":
        "Deliveries that devices refused, or that were too large",
        rises "Devices do not take the payload, often because it exceeds their packet size.",
        act "`stadium push trace` names the reason for one device. Make payloads smaller.",
        set by "limits.packet_bytes_max";
    PUSH_RETURNED = Counter "push_deliveries_returned" by "shard": "Deliveries that the edge gave back",
        rises "Devices left between the decision and the delivery, or a loop was busy. They are tried again.",
        act "If it rises as fast as the dispatched ones, loops are overloaded.",
        set by "limits.mailbox_max";
    PUSH_EXPIRED = Counter "push_deliveries_expired" by "shard": "Deliveries that expired",
        rises "Devices were away for longer than the push lives.",
        act "Give important pushes a longer time to live.";
    PUSH_COLLAPSED = Counter "push_deliveries_collapsed" by "shard": "Deliveries ended by a newer push",
        rises "A newer push with the same collapse key replaced an older one that waited.",
        act "Nothing: that is the purpose of the key.";
    PUSH_CROWDED_OUT = Counter "push_deliveries_crowded_out" by "shard": "Deliveries ended by a full inbox",
        rises "Devices that are away are owed more pushes than an inbox holds. The oldest is given up.",
        act "Use collapse keys or a shorter time to live; raise the app's size of the inbox.";
    PUSH_OPENED = Counter "push_opened" by "shard": "Deliveries reported as opened",
        rises "People open notifications.",
        act "Nothing.";
    PUSH_CLICKED = Counter "push_clicked" by "shard": "Deliveries reported as clicked",
        rises "People use notifications' actions.",
        act "Nothing.";
}
