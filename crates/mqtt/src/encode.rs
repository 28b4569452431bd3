//! MQTT encode.
