package io.stadium.rsocket.connection;

import io.stadium.rsocket.frame.Interaction;
import java.util.ArrayList;
import java.util.List;

/** Notes the events of a connection in words. */
final class Recorder implements Listener {
    final List<String> events = new ArrayList<>();

    /** The last payload. */
    byte[] metadata;

    byte[] data;
    int streamId;
    Closed closed;

    private void note(int streamId, String event, Payload payload) {
        events.add(event);
        this.streamId = streamId;
        if (payload != null) {
            metadata = payload.metadataBytes();
            data = payload.dataBytes();
        }
    }

    /** The events since the last call. */
    List<String> take() {
        List<String> taken = List.copyOf(events);
        events.clear();
        return taken;
    }

    @Override
    public void onSetup(Setup setup) {
        events.add("setup");
    }

    @Override
    public void onRequest(int streamId, Interaction interaction, int initialRequestN,
            Payload payload) {
        note(streamId, "request", payload);
    }

    @Override
    public void onPayload(int streamId, Object attachment, Payload payload) {
        note(streamId, payload.isComplete() ? "payload and complete" : "payload", payload);
    }

    @Override
    public void onComplete(int streamId, Object attachment) {
        note(streamId, "complete", null);
    }

    @Override
    public void onRequestN(int streamId, Object attachment, int n) {
        note(streamId, "credit", null);
    }

    @Override
    public void onCancel(int streamId, Object attachment, CancelScope scope) {
        note(streamId, "cancelled " + scope, null);
    }

    @Override
    public void onError(int streamId, Object attachment, int code, Payload text) {
        note(streamId, "failed " + code + " " + text.dataUtf8(), null);
    }

    @Override
    public void onMetadataPush(Payload metadata) {
        note(0, "metadata push", metadata);
    }

    @Override
    public void onLease(int ttlMs, int requests) {
        events.add("lease");
    }

    @Override
    public void onClosing(String text) {
        events.add("closing " + text);
    }

    @Override
    public void onClosed(Closed closed) {
        events.add("closed");
        this.closed = closed;
    }
}
