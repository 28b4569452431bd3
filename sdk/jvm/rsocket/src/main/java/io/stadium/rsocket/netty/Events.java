package io.stadium.rsocket.netty;

import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Listener;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.Setup;
import io.stadium.rsocket.frame.Interaction;

/** Passes the events of a connection to the application; a stream's attachment is its handler. */
final class Events implements Listener {
    private final Driver driver;
    private final RSocketHandler handler;

    Events(Driver driver, RSocketHandler handler) {
        this.driver = driver;
        this.handler = handler;
    }

    @Override
    public void onSetup(Setup setup) {
        handler.onSetup(driver.rsocket, setup);
    }

    @Override
    public void onRequest(int streamId, Interaction interaction, int initialRequestN,
            Payload payload) {
        handler.onRequest(driver.rsocket, streamId, interaction, initialRequestN, payload);
    }

    @Override
    public void onPayload(int streamId, Object attachment, Payload payload) {
        if (attachment != null) {
            ((StreamHandler) attachment).onPayload(driver.rsocket, streamId, payload);
        }
    }

    @Override
    public void onComplete(int streamId, Object attachment) {
        if (attachment != null) {
            ((StreamHandler) attachment).onComplete(driver.rsocket, streamId);
        }
    }

    @Override
    public void onRequestN(int streamId, Object attachment, int n) {
        if (attachment != null) {
            ((StreamHandler) attachment).onRequestN(driver.rsocket, streamId, n);
        }
    }

    @Override
    public void onCancel(int streamId, Object attachment, CancelScope scope) {
        if (attachment != null) {
            ((StreamHandler) attachment).onCancel(driver.rsocket, streamId, scope);
        }
    }

    @Override
    public void onError(int streamId, Object attachment, int code, Payload text) {
        if (attachment != null) {
            ((StreamHandler) attachment).onError(driver.rsocket, streamId, code, text);
        }
    }

    @Override
    public void onMetadataPush(Payload metadata) {
        handler.onMetadataPush(driver.rsocket, metadata);
    }

    @Override
    public void onLease(int ttlMs, int requests) {
        driver.arm();
        handler.onLease(driver.rsocket, ttlMs, requests);
    }

    @Override
    public void onClosing(String text) {
        handler.onClosing(driver.rsocket, text);
    }

    @Override
    public void onClosed(Closed closed) {
        driver.closed(closed);
    }

    void writabilityChanged() {
        handler.onWritabilityChanged(driver.rsocket);
    }

    /** Notifies the handlers of all open streams, then that of the connection. */
    void ended(Closed closed) {
        driver.connection.forEachStream((streamId, attachment, role) -> {
            if (attachment != null) {
                ((StreamHandler) attachment).onClosed(driver.rsocket, streamId, closed);
            }
        });
        handler.onClosed(driver.rsocket, closed);
    }
}
