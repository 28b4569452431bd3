//! MQTT topic.
