//! Wallets: each asset over all shards, and the books of each shard.

crate::definition::section! { "Wallets"
    WALLET_ASSET_ACCOUNTS = Gauge "wallet_asset_accounts" by "asset": "Accounts of an asset",
        rises "Accounts were opened.",
        act "Nothing below the bound.",
        set by "wallet.accounts_max";
    WALLET_ASSET_CREDIT = Gauge "wallet_asset_credit" by "asset": "Sum of balances above zero, minor units",
        rises "More of the asset is in circulation.",
        act "Compare it with what your application issued.";
    WALLET_ASSET_DEBIT = Gauge "wallet_asset_debit" by "asset": "Sum of balances below zero, minor units",
        rises "The accounts that issue the asset paid more out.",
        act "It must equal the credit, see `stadium_wallet_asset_balanced`.";
    WALLET_ASSET_HELD = Gauge "wallet_asset_held" by "asset": "Held, minor units",
        rises "More is reserved by holds that are neither captured nor voided.",
        act "If it only rises, an application forgets its holds; they end by their expiry.",
        set by "wallet.holds_max";
    WALLET_ASSET_BALANCED = Gauge "wallet_asset_balanced" by "asset":
        "1 while the sum of all balances is zero; anything else is a bug or a broken disk",
        rises "0 means that the books do not add up. Transfers between shards that are not decided count as balanced.",
        act "Stop paying out, copy the data directory, and run `stadium wallet verify` on the copy.";
    WALLET_ACCOUNTS = Gauge "wallet_accounts" by "shard": "Accounts, parts of system wallets' included",
        rises "Accounts were opened.",
        act "Nothing below the bound.",
        set by "wallet.accounts_max";
    WALLET_HOLDS = Gauge "wallet_holds" by "shard": "Open holds",
        rises "Holds are made faster than they are captured, voided or expire.",
        act "Capture or void them, or give them an earlier expiry.",
        set by "wallet.holds_max";
    WALLET_IDS_REMEMBERED = Gauge "wallet_ids_remembered" by "shard": "Transfers whose ids are remembered",
        rises "Transfers are made. At the bound the oldest ids are forgotten.",
        act "Keep the bound above the transfers of the longest time after which a caller still retries.",
        set by "wallet.transfers_remembered";
    WALLET_PENDING = Gauge "wallet_pending" by "shard": "Transfers between shards that are not decided",
        rises "Transfers between shards wait for the other shard.",
        act "If it does not fall, look at `stadium_shard_serving`: a shard may not serve.",
        set by "wallet.pending_max";
    WALLET_JOURNAL = Gauge "wallet_journal" in Bytes by "shard":
        "Bytes of local journal segments with records of wallets",
        rises "Transfers are made. Without `backup.wallet_local_s` none of these segments is removed.",
        act "Have old ones moved to the backups, see `stadium_backup_wallet_moved_bytes`.",
        set by "backup.wallet_local_s";
    WALLET_UNSEALED = Gauge "wallet_unsealed" by "shard": "Records that no seal covers",
        rises "Transfers are made since the last seal.",
        act "If it only rises, seals fail: read the log.",
        set by "wallet.seal_after_s";
    WALLET_BOOKED = Counter "wallet_booked" by "shard": "Transfers booked, replayed ones included",
        rises "Transfers are made.",
        act "Nothing.";
    WALLET_REFUSED = Counter "wallet_refused" by "shard": "Transfers refused",
        rises "Callers ask for more than an account has, or for accounts that do not exist.",
        act "The answers' codes say why: a rise of WAL codes in the caller's log.";
    WALLET_SEALS = Counter "wallet_seals" by "shard": "Seals made",
        rises "The chain of records is sealed.",
        act "Nothing.",
        set by "wallet.seal_after_s";
}
