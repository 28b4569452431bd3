package io.stadium.rpc.server;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.function.Consumer;

/**
 * The few messages of the framework's own routes, field by field. Their numbers are those of
 * proto/stadium/rpc/v1/service.proto. Fields with their default are left out.
 */
final class Wire {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final CodedOutputStream out = CodedOutputStream.newInstance(bytes);

    private Wire() {}

    /** A message whose fields {@code fields} writes. */
    static byte[] message(Consumer<Wire> fields) {
        Wire wire = new Wire();
        fields.accept(wire);
        try {
            wire.out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return wire.bytes.toByteArray();
    }

    Wire number(int field, long value) {
        return value == 0 ? this : write(() -> out.writeUInt64(field, value));
    }

    Wire real(int field, float value) {
        return value == 0 ? this : write(() -> out.writeFloat(field, value));
    }

    Wire text(int field, String value) {
        return value.isEmpty() ? this : write(() -> out.writeString(field, value));
    }

    Wire bytes(int field, byte[] value) {
        return value.length == 0 ? this : write(() -> out.writeByteArray(field, value));
    }

    Wire embedded(int field, Consumer<Wire> fields) {
        return write(() -> out.writeByteArray(field, message(fields)));
    }

    private interface Write {
        void run() throws IOException;
    }

    private Wire write(Write write) {
        try {
            write.run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    /** The last value of a number's field, 0 where it is absent. */
    static long number(byte[] message, int field) throws Refusal {
        CodedInputStream in = CodedInputStream.newInstance(message);
        long value = 0;
        try {
            for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
                if (tag == (field << 3 | WireFormat.WIRETYPE_VARINT)) {
                    value = in.readUInt64();
                } else if (!in.skipField(tag)) {
                    throw Refusal.malformed("a group ends that has not begun");
                }
            }
        } catch (IOException e) {
            throw Refusal.malformed(e.getMessage());
        }
        return value;
    }
}
