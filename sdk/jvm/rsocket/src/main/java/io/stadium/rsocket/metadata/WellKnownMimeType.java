package io.stadium.rsocket.metadata;

import java.util.HashMap;
import java.util.Map;

/** The MIME types that have an id of seven bits (Well-known MIME Types). */
public final class WellKnownMimeType {
    /** {@code application/json}. */
    public static final int JSON = 0x05;

    /** {@code application/octet-stream}. */
    public static final int OCTET_STREAM = 0x06;

    /** {@code application/vnd.google.protobuf}. */
    public static final int PROTOBUF = 0x09;

    /** {@code text/plain}. */
    public static final int TEXT = 0x21;

    /** {@code message/x.rsocket.mime-type.v0}: the MIME type of one stream's data. */
    public static final int MIME_TYPE = 0x7A;

    /** {@code message/x.rsocket.accept-mime-types.v0}: the MIME types that a requester accepts. */
    public static final int ACCEPT_MIME_TYPES = 0x7B;

    /** {@code message/x.rsocket.authentication.v0}. */
    public static final int AUTHENTICATION = 0x7C;

    /** {@code message/x.rsocket.tracing-zipkin.v0}. */
    public static final int TRACING = 0x7D;

    /** {@code message/x.rsocket.routing.v0}. */
    public static final int ROUTING = 0x7E;

    /** {@code message/x.rsocket.composite-metadata.v0}. */
    public static final int COMPOSITE_METADATA = 0x7F;

    private static final String[] NAMES = names();
    private static final Map<String, Integer> IDS = ids();

    private WellKnownMimeType() {}

    /**
     * The name of an id.
     *
     * @param id 0 to 127
     * @return the MIME type, or {@code null} where the specification gives the id no name
     */
    public static String name(int id) {
        return id >= 0 && id < NAMES.length ? NAMES[id] : null;
    }

    /**
     * The id of a name.
     *
     * @param name a MIME type
     * @return 0 to 127, or -1 where the MIME type has no id
     */
    public static int id(String name) {
        Integer id = IDS.get(name);
        return id != null ? id : -1;
    }

    private static Map<String, Integer> ids() {
        Map<String, Integer> ids = new HashMap<>();
        for (int id = 0; id < NAMES.length; id++) {
            if (NAMES[id] != null) {
                ids.put(NAMES[id], id);
            }
        }
        return ids;
    }

    private static String[] names() {
        String[] names = new String[128];
        names[0x00] = "application/avro";
        names[0x01] = "application/cbor";
        names[0x02] = "application/graphql";
        names[0x03] = "application/gzip";
        names[0x04] = "application/javascript";
        names[0x05] = "application/json";
        names[0x06] = "application/octet-stream";
        names[0x07] = "application/pdf";
        names[0x08] = "application/vnd.apache.thrift.binary";
        names[0x09] = "application/vnd.google.protobuf";
        names[0x0A] = "application/xml";
        names[0x0B] = "application/zip";
        names[0x0C] = "audio/aac";
        names[0x0D] = "audio/mp3";
        names[0x0E] = "audio/mp4";
        names[0x0F] = "audio/mpeg3";
        names[0x10] = "audio/mpeg";
        names[0x11] = "audio/ogg";
        names[0x12] = "audio/opus";
        names[0x13] = "audio/vorbis";
        names[0x14] = "image/bmp";
        names[0x15] = "image/gif";
        names[0x16] = "image/heic-sequence";
        names[0x17] = "image/heic";
        names[0x18] = "image/heif-sequence";
        names[0x19] = "image/heif";
        names[0x1A] = "image/jpeg";
        names[0x1B] = "image/png";
        names[0x1C] = "image/tiff";
        names[0x1D] = "multipart/mixed";
        names[0x1E] = "text/css";
        names[0x1F] = "text/csv";
        names[0x20] = "text/html";
        names[0x21] = "text/plain";
        names[0x22] = "text/xml";
        names[0x23] = "video/H264";
        names[0x24] = "video/H265";
        names[0x25] = "video/VP8";
        names[0x26] = "application/x-hessian";
        names[0x27] = "application/x-java-object";
        names[0x28] = "application/cloudevents+json";
        names[0x29] = "application/x-capnp";
        names[0x2A] = "application/x-flatbuffers";
        names[0x7A] = "message/x.rsocket.mime-type.v0";
        names[0x7B] = "message/x.rsocket.accept-mime-types.v0";
        names[0x7C] = "message/x.rsocket.authentication.v0";
        names[0x7D] = "message/x.rsocket.tracing-zipkin.v0";
        names[0x7E] = "message/x.rsocket.routing.v0";
        names[0x7F] = "message/x.rsocket.composite-metadata.v0";
        return names;
    }
}
