package io.stadium.api;

import com.google.protobuf.ByteString;
import io.stadium.v1.Capture;
import io.stadium.v1.Hold;
import io.stadium.v1.NewTransfer;
import io.stadium.v1.Post;
import io.stadium.v1.Reverse;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import java.util.function.UnaryOperator;

/**
 * A transfer, such as {@code Transfer.post(Amount.of(250, "EUR")).from("alice").to("@shop")}.
 *
 * <p>It has an id from the beginning, and is booked at most once: send the same object again after
 * an error that says that it may have happened. Instances are immutable. docs/wallet.md describes
 * each kind.
 */
public final class Transfer {
    private static final int REFERENCE_BYTES_MAX = 128;
    private static final int METADATA_BYTES_MAX = 1_024;

    private final NewTransfer message;

    private Transfer(NewTransfer.Builder message) {
        this.message = message.build();
    }

    private static Transfer of(UnaryOperator<NewTransfer.Builder> kind) {
        return new Transfer(kind.apply(
                NewTransfer.newBuilder().setId(Ids.bytes(UUID.randomUUID()))));
    }

    /**
     * Moves an amount now. It needs {@link #from} and {@link #to}.
     *
     * @param amount the amount
     * @return the transfer
     */
    public static Transfer post(Amount amount) {
        return of(builder -> builder.setPost(Post.newBuilder()
                .setAsset(amount.asset()).setAmount(amount.minorUnits())));
    }

    /**
     * Keeps an amount with its owner, not available, for a transfer that follows. It needs
     * {@link #from} and {@link #to}.
     *
     * @param amount the amount
     * @param expiresAfter the hold ends by itself then: 1 s to 366 days
     * @return the transfer
     */
    public static Transfer hold(Amount amount, Duration expiresAfter) {
        Bounds.check("expiresAfter", expiresAfter, Duration.ofSeconds(1), Duration.ofDays(366));
        return of(builder -> builder.setHold(Hold.newBuilder()
                .setAsset(amount.asset()).setAmount(amount.minorUnits())
                .setExpiresAfterMs(expiresAfter.toMillis())));
    }

    /**
     * Moves all of the amount that a hold keeps.
     *
     * @param hold the hold's id
     * @return the transfer
     */
    public static Transfer capture(UUID hold) {
        return of(builder -> builder.setCapture(Capture.newBuilder().setHold(Ids.bytes(hold))));
    }

    /**
     * Moves a part of the amount that a hold keeps. The rest is available again.
     *
     * @param hold the hold's id
     * @param minorUnits at least 1
     * @return the transfer
     */
    public static Transfer capture(UUID hold, long minorUnits) {
        if (minorUnits < 1) {
            throw new IllegalArgumentException("a capture is at least 1, not " + minorUnits);
        }
        return of(builder -> builder.setCapture(
                Capture.newBuilder().setHold(Ids.bytes(hold)).setAmount(minorUnits)));
    }

    /**
     * Makes the amount of a hold available again. {@code void} is a word of the language.
     *
     * @param hold the hold's id
     * @return the transfer
     */
    public static Transfer voidHold(UUID hold) {
        return of(builder -> builder.setVoid(
                io.stadium.v1.Void.newBuilder().setHold(Ids.bytes(hold))));
    }

    /**
     * Moves all of a posted or captured transfer back.
     *
     * @param transfer its id
     * @return the transfer
     */
    public static Transfer reverse(UUID transfer) {
        return of(builder -> builder.setReverse(
                Reverse.newBuilder().setTransfer(Ids.bytes(transfer))));
    }

    /**
     * Sets the wallet that gives, of a post or a hold.
     *
     * @param wallet its name
     * @return another transfer with the same id
     */
    public Transfer from(String wallet) {
        return with(builder -> switch (builder.getKindCase()) {
            case POST -> builder.setPost(builder.getPost().toBuilder().setDebit(wallet));
            case HOLD -> builder.setHold(builder.getHold().toBuilder().setDebit(wallet));
            default -> throw noWallets();
        });
    }

    /**
     * Sets the wallet that gets, of a post or a hold.
     *
     * @param wallet its name
     * @return another transfer with the same id
     */
    public Transfer to(String wallet) {
        return with(builder -> switch (builder.getKindCase()) {
            case POST -> builder.setPost(builder.getPost().toBuilder().setCredit(wallet));
            case HOLD -> builder.setHold(builder.getHold().toBuilder().setCredit(wallet));
            default -> throw noWallets();
        });
    }

    private static IllegalArgumentException noWallets() {
        return new IllegalArgumentException(
                "posts and holds alone name wallets; others have those of their transfer");
    }

    /**
     * Sets the id.
     *
     * @param id such as {@code Ids.of("payment", "store-4711")}; default a random one
     * @return another transfer
     */
    public Transfer id(UUID id) {
        return with(builder -> builder.setId(Ids.bytes(id)));
    }

    /**
     * Sets the name that an outside system has for it.
     *
     * @param reference at most 128 bytes; default none
     * @return another transfer with the same id
     */
    public Transfer reference(String reference) {
        int bytes = ByteString.copyFromUtf8(reference).size();
        Bounds.check("the length of a reference in bytes", bytes, 0, REFERENCE_BYTES_MAX);
        return with(builder -> builder.setReference(reference));
    }

    /**
     * Adds bytes that its history shows.
     *
     * @param metadata at most 1 KiB; default none
     * @return another transfer with the same id
     */
    public Transfer metadata(byte[] metadata) {
        Bounds.check("the length of metadata", metadata.length, 0, METADATA_BYTES_MAX);
        return with(builder -> builder.setMetadata(ByteString.copyFrom(metadata)));
    }

    /**
     * Sets when it counts for the books, where that is not when it is booked.
     *
     * @param moment not before 1970
     * @return another transfer with the same id
     */
    public Transfer effective(Instant moment) {
        return with(builder -> builder.setEffectiveMs(Times.millis("effective", moment)));
    }

    private Transfer with(UnaryOperator<NewTransfer.Builder> change) {
        return new Transfer(change.apply(message.toBuilder()));
    }

    /**
     * The id.
     *
     * @return the same in all transfers that were made of one
     */
    public UUID id() {
        return Ids.of(message.getId());
    }

    /**
     * The message of the contract.
     *
     * @return the message
     * @throws IllegalArgumentException a post or a hold has no {@link #from} or no {@link #to}
     */
    public NewTransfer message() {
        boolean isWhole = switch (message.getKindCase()) {
            case POST -> hasBoth(message.getPost().getDebit(), message.getPost().getCredit());
            case HOLD -> hasBoth(message.getHold().getDebit(), message.getHold().getCredit());
            default -> true;
        };
        if (!isWhole) {
            throw new IllegalArgumentException("a post or a hold needs from() and to()");
        }
        return message;
    }

    private static boolean hasBoth(String debit, String credit) {
        return !debit.isEmpty() && !credit.isEmpty();
    }

    @Override
    public String toString() {
        return "Transfer[" + id() + ", " + message.getKindCase() + "]";
    }
}
