package io.stadium.memcache.driver;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** A connected socket that never waits but in {@link #await}. One thread reads, one may write. */
interface Transport extends Closeable {
    /** Reads what is there: 0 where nothing is, -1 at the end. */
    int read(ByteBuffer target) throws IOException;

    /** Takes as many bytes as go out, or are kept in {@link #unflushed}. */
    int write(ByteBuffer source) throws IOException;

    /** True where bytes that were taken are not out; the next {@link #write} sends them first. */
    boolean unflushed();

    /** Waits until it can be read, or also written, or until the time is over. */
    void await(boolean alsoWritable, long nanos) throws IOException;

    /** Ends {@link #await} of another thread. */
    void wakeUp();

    /** Closes the socket; a thread in {@link #await} returns. */
    @Override
    void close();
}
