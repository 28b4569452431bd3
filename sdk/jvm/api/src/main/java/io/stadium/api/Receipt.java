package io.stadium.api;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * Checks receipts of transfers without the books: by roots that were published and kept.
 *
 * <p>{@code stadium wallet receipt} makes receipts; {@link Wallets#roots} gives the roots. Take the
 * roots from elsewhere than the receipt. docs/audit.md describes the format and what it proves. No
 * server is asked.
 */
public final class Receipt {
    /** The largest receipt that is read: 10,000 trees, and paths. */
    private static final int BYTES_MAX = 4 << 20;

    private Receipt() {}

    /**
     * Checks a receipt.
     *
     * @param json the receipt
     * @param roots the published roots: that of the receipt's seal and, where the receipt names
     *     earlier ones, theirs. Each is 64 hexadecimal digits
     * @return what it proves
     * @throws InvalidReceipt it proves nothing
     * @throws IllegalArgumentException a root is no root
     */
    public static ProvedTransfer verify(String json, Collection<String> roots) {
        Set<ByteString> published = new HashSet<>();
        for (String root : roots) {
            published.add(root(root));
        }
        return verify(json, published);
    }

    /**
     * Checks a receipt.
     *
     * @param json the receipt
     * @param root the published root, 64 hexadecimal digits
     * @return what it proves
     * @throws InvalidReceipt it proves nothing
     * @throws IllegalArgumentException the root is no root
     */
    public static ProvedTransfer verify(String json, String root) {
        return verify(json, Set.of(root(root)));
    }

    /**
     * Checks the receipt of a file.
     *
     * @param file the receipt
     * @param roots the published roots, each 64 hexadecimal digits
     * @return what it proves
     * @throws InvalidReceipt it proves nothing
     * @throws IllegalArgumentException a root is no root
     * @throws IOException the file cannot be read
     */
    public static ProvedTransfer verify(Path file, Collection<String> roots) throws IOException {
        if (Files.size(file) > BYTES_MAX) {
            throw new InvalidReceipt("the receipt is longer than any receipt");
        }
        // Bytes that are no UTF-8 are replaced, and no text of a receipt has the replacement.
        return verify(new String(Files.readAllBytes(file), StandardCharsets.UTF_8), roots);
    }

    /** Checks a receipt against roots of 32 bytes. */
    static ProvedTransfer verify(String json, Set<ByteString> published) {
        if (json.length() > BYTES_MAX) {
            throw new InvalidReceipt("the receipt is longer than any receipt");
        }
        return new ReceiptCheck(JsonReader.read(json)).verify(published);
    }

    /**
     * The texts of roots that a server gave.
     *
     * @param roots as {@link Wallets#roots} returns them
     * @return 64 hexadecimal digits each
     */
    public static List<String> rootsOf(List<io.stadium.v1.Root> roots) {
        return roots.stream()
                .map(root -> HexFormat.of().formatHex(root.getRoot().toByteArray())).toList();
    }

    private static ByteString root(String hex) {
        byte[] bytes;
        try {
            bytes = HexFormat.of().parseHex(hex.strip());
        } catch (IllegalArgumentException e) {
            bytes = new byte[0];
        }
        if (bytes.length != 32) {
            throw new IllegalArgumentException("a root is 64 hexadecimal digits, not " + hex);
        }
        return ByteString.copyFrom(bytes);
    }
}
