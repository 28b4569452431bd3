//! The types of the wallets.

use stadium_wallet::{
    AccountView, Answer, AssetCode, AssetView, Balance, BookState, Booked, Change, Command, Direction, Entry,
    EntryPage, HoldView, Kind, Leg, LegKind, NewAccount, NewTransfer, Overdraft, Range, Seal, ShardMessage,
    TransferId, TransferView, WalletName,
};

newtype!(TransferId(u128));

text! {
    WalletName = WalletName::new, ["anna", "@shop", "{42}:votes"];
    AssetCode = AssetCode::new, ["EUR", "VOTE_7"];
}

enumeration! {
    Overdraft = "Overdraft" { 1 Never, 2 Allowed }
    BookState = "BookState" { 1 Posted, 2 Held, 3 Captured, 4 Voided, 5 Expired, 6 Reversed, 7 Pending }
    Direction = "Direction" { 1 Credit, 2 Debit }
    LegKind = "LegKind" { 1 Post, 2 Capture, 3 Reverse }
}

message! {
    NewAccount = "NewAccount" { 1 wallet, 2 asset, 3 overdraft, 4 ceiling }
    Change = "AccountChange" { 1 overdraft, 2 ceiling, 3 closed }
    NewTransfer = "NewTransfer" { 1 id, 2 kind, 3 reference, 4 metadata, 5 effective }
    Range = "EntryRange" {
        1 from, 2 to, 3 direction, 4 other, 5 reference, 6 before, 7 entries_max,
    }
    Booked = "Booked" { 1 transfer, 2 at, 3 duplicate }
    AccountView = "AccountView" {
        1 wallet, 2 asset, 3 balance, 4 overdraft, 5 ceiling, 6 closed, 7 entries, 8 opened,
    }
    Balance = "Balance" { 1 posted, 2 held }
    HoldView = "HoldView" { 1 transfer, 2 debit, 3 credit, 4 asset, 5 amount, 6 at, 7 expires }
    TransferView = "TransferView" {
        1 transfer, 2 state, 3 debit, 4 credit, 5 asset, 6 amount, 7 at, 8 of, 9 effective, 10 reference,
        11 metadata, 12 principal,
    }
    Entry = "Entry" { 1 number, 2 transfer, 3 direction, 4 balance }
    EntryPage = "EntryPage" { 1 entries, 2 before }
    AssetView = "AssetView" { 1 asset, 2 scale, 3 accounts, 4 credit, 5 debit, 6 transit, 7 held }
    Seal = "Seal" { 1 number, 2 at, 3 position, 4 records, 5 root }
    Leg = "Leg" {
        1 transfer, 2 kind, 3 content, 4 debit, 5 credit, 6 asset, 7 amount, 8 of, 9 effective, 10 reference,
        11 metadata,
    }
}

oneof! {
    Command = "WalletCommand" {
        1 Declare { 1 asset, 2 scale },
        2 Open { 1 accounts },
        3 Change { 1 wallet, 2 asset, 3 change },
        4 Transfer { 1 transfers, 2 linked, 3 principal },
        5 Wallet { 1 wallet },
        6 Accounts { 1 prefix, 2 asset, 3 after, 4 accounts_max },
        7 Holds { 1 wallet, 2 holds_max },
        8 Find { 1 transfer },
        9 History { 1 wallet, 2 asset, 3 range },
        10 BalanceAt { 1 wallet, 2 asset, 3 at },
        11 Assets,
        12 Seals { 1 shard, 2 after, 3 seals_max },
    }
    Kind = "TransferKind" {
        1 Post { 1 debit, 2 credit, 3 asset, 4 amount },
        2 Hold { 1 debit, 2 credit, 3 asset, 4 amount, 5 expires_after },
        3 Capture { 1 hold, 2 amount },
        4 Void { 1 hold },
        5 Reverse { 1 transfer },
    }
    Answer = "WalletAnswer" {
        1 Done,
        2 Opened(1 outcomes),
        3 Booked(1 outcomes),
        4 Accounts(1 accounts),
        5 Holds(1 holds),
        6 Transfer[transfer],
        7 History[page],
        8 Balance[balance],
        9 Assets(1 assets),
        10 Seals(1 seals),
    }
    ShardMessage = "WalletMessage" {
        1 Prepare { 1 transaction, 2 principal, 3 legs },
        2 Decide { 1 transaction, 2 prepare, 3 booked, 4 at },
    }
}
