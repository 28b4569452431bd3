package io.stadium.memcache;

/** The server speaks the classic protocol only, which has no such operation. */
public final class NeedsMeta extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param operation the operation
     */
    public NeedsMeta(String operation) {
        super(operation + " needs the meta protocol, which the server lacks", false);
    }
}
