package io.stadium.api;

/** An account that is to be opened, such as {@code NewAccount.of("alice", "EUR")}. Immutable. */
public final class NewAccount {
    private final io.stadium.v1.NewAccount message;

    private NewAccount(io.stadium.v1.NewAccount.Builder message) {
        this.message = message.build();
    }

    /**
     * An account that cannot be overdrawn, without a ceiling.
     *
     * @param wallet the wallet's name: letters, digits and {@code -_.:@{}}, at most 64 bytes
     * @param asset the asset
     * @return the account
     */
    public static NewAccount of(String wallet, String asset) {
        return new NewAccount(
                io.stadium.v1.NewAccount.newBuilder().setWallet(wallet).setAsset(asset));
    }

    /**
     * It may be overdrawn, without limit.
     *
     * @return another account
     */
    public NewAccount overdraft() {
        return new NewAccount(message.toBuilder().setOverdraft(true));
    }

    /**
     * Sets the most that it may hold.
     *
     * @param minorUnits not negative
     * @return another account
     */
    public NewAccount ceiling(long minorUnits) {
        if (minorUnits < 0) {
            throw new IllegalArgumentException("a ceiling is not negative, but " + minorUnits);
        }
        return new NewAccount(message.toBuilder().setCeiling(minorUnits));
    }

    io.stadium.v1.NewAccount message() {
        return message;
    }
}
