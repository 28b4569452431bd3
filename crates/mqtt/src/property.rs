//! MQTT property.
