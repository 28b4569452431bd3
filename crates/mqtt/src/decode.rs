//! MQTT decode.
