//! The codes of the wallets' refusals.
//!
//! Every code that the machine answers is in [`CODES`], and every one of it has a page in docs/reference/errors.

stadium_state_machine::codes! {
    /// A command names no item, or more than [`Bounds::ITEMS_MAX`](crate::Bounds::ITEMS_MAX).
    COUNT = "WAL-001", "too many or no items in a command";
    /// An amount of zero, or above [`Bounds::AMOUNT_MAX`](crate::Bounds::AMOUNT_MAX).
    AMOUNT = "WAL-002", "amount out of bounds";
    /// Debit and credit are the same account.
    SAME_ACCOUNT = "WAL-003", "debit and credit are the same account";
    /// A hold too short or too long, or of a system wallet.
    HOLD = "WAL-004", "hold out of bounds";
    /// A reference that is too long or holds control characters.
    REFERENCE = "WAL-005", "reference out of bounds";
    /// Metadata that is too long.
    METADATA = "WAL-006", "metadata too large";
    /// An asset's scale above [`Bounds::SCALE_MAX`](crate::Bounds::SCALE_MAX).
    SCALE = "WAL-007", "scale out of bounds";
    /// The same id twice in one command.
    ID_TWICE = "WAL-008", "transfer id twice in a command";
    /// The wallet `@transit` is the shards' own: amounts on their way between them.
    RESERVED = "WAL-009", "wallet reserved";
    /// No asset has that code.
    ASSET_UNKNOWN = "WAL-020", "unknown asset";
    /// The wallet has no account of that asset.
    ACCOUNT_UNKNOWN = "WAL-021", "unknown account";
    /// No transfer has that id, or it is not remembered any more.
    TRANSFER_UNKNOWN = "WAL-022", "unknown transfer";
    /// There is less available than is to go out.
    INSUFFICIENT = "WAL-023", "not enough credit";
    /// The account may not hold as much.
    CEILING = "WAL-024", "ceiling exceeded";
    /// The account is closed.
    CLOSED = "WAL-025", "account closed";
    /// The id was used with another content.
    ID_CONTENT = "WAL-026", "transfer id reused with other content";
    /// The hold was captured, voided, or has expired; or the transfer is no hold.
    NOT_HELD = "WAL-027", "no open hold";
    /// A capture of more than is held.
    CAPTURE = "WAL-028", "capture exceeds the hold";
    /// The transfer was reversed, or is none that can be.
    NOT_REVERSIBLE = "WAL-029", "transfer cannot be reversed";
    /// A balance that would be further from zero than [`Bounds::AMOUNT_MAX`](crate::Bounds::AMOUNT_MAX).
    OVERFLOW = "WAL-030", "balance out of bounds";
    /// The account or asset is there with other rules.
    RULES = "WAL-031", "there already with other rules";
    /// A linked transfer was refused, and so all are: the reason names it.
    LINKED = "WAL-032", "a linked transfer was refused";
    /// Transfers in one record with other work must stay on one shard.
    SHARDS = "WAL-033", "accounts on different shards";
    /// The command is none for this function; a driver's mistake.
    MISDIRECTED = "WAL-034", "command sent to the wrong place";
    /// The records of the period are no longer on the server's disk: backups have them.
    MOVED = "WAL-035", "period moved to the backups";
    /// There are as many accounts as the settings allow.
    ACCOUNTS_FULL = "WAL-040", "too many accounts";
    /// There are as many open holds as the settings allow.
    HOLDS_FULL = "WAL-041", "too many holds";
    /// There are as many undecided transfers between shards as the settings allow.
    PENDING_FULL = "WAL-042", "too many transfers under way";
    /// The transfer of that id is on its way: ask again.
    PENDING = "WAL-043", "transfer under way";
    /// There are as many assets as there may be.
    ASSETS_FULL = "WAL-044", "too many assets";
    /// A time too far back in a long history to be found in one go.
    TOO_FAR = "WAL-045", "history too long";
}
