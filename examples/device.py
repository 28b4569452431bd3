"""A device: connects over MQTT 5, listens to its inbox and to everybody, and answers on its uplink.

    python3 -m pip install paho-mqtt
    python3 examples/device.py phone-1

A host and a port may follow the device's id.
"""

import sys

import paho.mqtt.client as mqtt


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "phone-1"
    host = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    port = int(sys.argv[3]) if len(sys.argv) > 3 else 1883

    def on_connect(client, userdata, flags, reason, properties):
        if reason.is_failure:
            sys.exit(f"refused: {reason}")
        print(f"{device} is connected", flush=True)
        client.subscribe([(f"inbox/{device}", 1), ("channels/everybody", 1)])

    def on_message(client, userdata, message):
        print(f"{message.topic}: {message.payload.decode(errors='replace')}", flush=True)
        client.publish(f"uplink/{device}/seen", message.payload, qos=1)

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=device, protocol=mqtt.MQTTv5)
    client.on_connect = on_connect
    client.on_message = on_message
    client.connect(host, port, keepalive=60)
    client.loop_forever()


if __name__ == "__main__":
    main()
