//! Fuzz bodies: any bytes as events of the wallets, and as a chunk of their checkpoint. Input that is taken
//! must leave a ledger that works, balances and can be saved; all other input is refused. Nothing panics.
//!
//! Ordinary functions, so that the stable test `fuzz` of crates/wallet runs them as well.

use std::sync::LazyLock;

use sha2::{Digest as _, Sha256};
use stadium_state_machine::Checkpointed as _;
use stadium_state_machine::Section;
use stadium_wallet::{
    Answer, AssetCode, Bounds, Command, Delivery, Executed, Kind, Ledger, Lookup, NewAccount, NewTransfer,
    Overdraft, Place, Range, Record, ShardMessage, Time, TransferId, WalletName,
};

const PLACE: Place = Place { shard: 0, shards: 2, hash_seed: 1 };
const NOW: Time = Time(1_800_000_000_000);

/// A ledger with something in each of its tables, where its next record stands, and its chain value.
pub struct Base {
    pub ledger: Ledger,
    pub at: u64,
    pub chain: [u8; 32],
}

fn wallet(name: &str) -> WalletName {
    WalletName::new(name).expect("a name")
}

fn votes() -> AssetCode {
    AssetCode::new("VOTE").expect("a code")
}

fn bounds() -> Bounds {
    Bounds { transfers_remembered: 12, ..Bounds::default() }
}

/// Names of wallets that live on a shard of two.
fn at_home(shard: u16) -> impl Iterator<Item = WalletName> {
    (0..100).map(|number| wallet(&format!("w{number}"))).filter(move |wallet| wallet.home(2) == Some(shard))
}

fn post(id: u128, debit: &WalletName, credit: &WalletName, amount: u64) -> NewTransfer {
    let (debit, credit, asset) = (debit.clone(), credit.clone(), votes());
    transfer(id, Kind::Post { debit, credit, asset, amount })
}

fn transfer(id: u128, kind: Kind) -> NewTransfer {
    NewTransfer {
        id: TransferId(id),
        kind,
        reference: "r".into(),
        metadata: vec![1].into(),
        effective: Some(NOW),
    }
}

impl Base {
    fn empty() -> Self {
        let mut hasher = Sha256::new();
        hasher.update([3, 0, 0]);
        Base { ledger: Ledger::new(PLACE, bounds()), at: 4_096, chain: hasher.finalize().into() }
    }

    /// Lets the ledger do something; what it wrote, without the chain value.
    fn record<T>(&mut self, run: impl FnOnce(&mut Ledger, u64, &mut Record) -> T) -> (T, Vec<u8>) {
        let mut record = Record::new();
        record.begin(0);
        let result = run(&mut self.ledger, self.at, &mut record);
        let Some((events, chain)) = record.bytes().split_last_chunk::<32>() else {
            return (result, Vec::new());
        };
        self.at += 1_024;
        self.chain = *chain;
        (result, events.to_vec())
    }

    fn ask(&mut self, command: &Command) -> Vec<u8> {
        let (result, events) = self.record(|ledger, at, record| ledger.execute(at, NOW, command, record));
        result.expect("it is allowed");
        events
    }

    fn transfers(&mut self, transfers: Vec<NewTransfer>) -> Vec<u8> {
        let principal = Some("k_0011223344556677".parse().expect("an id"));
        self.ask(&Command::Transfer { transfers, linked: false, principal })
    }

    fn receive(&mut self, number: u64, message: ShardMessage) -> Vec<u8> {
        let delivery = Delivery { shard: 1, number, confirmed_below: number, message };
        let (taken, events) = self.record(|ledger, at, record| ledger.receive(at, NOW, &delivery, record));
        assert!(taken.is_ok() || !events.is_empty(), "{taken:?}");
        events
    }
}

/// The other shard's message that asks for a post to a wallet here.
fn prepare(number: u64, transaction: u64, id: u128) -> ShardMessage {
    let mut other = Ledger::new(Place { shard: 1, ..PLACE }, bounds());
    let there = at_home(1).next().expect("one of a hundred");
    let here = at_home(0).next().expect("one of a hundred");
    let mut record = Record::new();
    let open =
        NewAccount { wallet: there.clone(), asset: votes(), overdraft: Overdraft::Allowed, ceiling: None };
    let commands = [
        Command::Declare { asset: votes(), scale: 0 },
        Command::Open { accounts: vec![open] },
        Command::Transfer { transfers: vec![post(id, &there, &here, 3)], linked: false, principal: None },
    ];
    for command in commands {
        record.begin(0);
        other.execute(4_096, NOW, &command, &mut record).expect("it is allowed");
    }
    let mut message = None;
    other.outgoing(0, &mut |_, _, one| message = Some(one));
    match message.expect("it asks") {
        ShardMessage::Prepare { legs, principal, .. } => {
            ShardMessage::Prepare { transaction, principal, legs }
        }
        ShardMessage::Decide { .. } => unreachable!("message {number} asks first"),
    }
}

/// The ledger in which everything is tried, as a checkpoint of it.
struct Saved {
    chunks: Vec<Vec<u8>>,
    at: u64,
    chain: [u8; 32],
    /// Events that may follow in it.
    following: Vec<Vec<u8>>,
}

static SAVED: LazyLock<Saved> = LazyLock::new(saved);

/// The ledger in which everything is tried.
pub fn base() -> Base {
    copy(&SAVED.chunks, SAVED.at, SAVED.chain)
}

/// Events that may follow in it, without a chain value.
pub fn following() -> &'static [Vec<u8>] {
    &SAVED.following
}

fn saved() -> Saved {
    let mut base = Base::empty();
    let here: Vec<WalletName> = at_home(0).take(3).collect();
    let there = at_home(1).next().expect("one of a hundred");
    base.ask(&Command::Declare { asset: votes(), scale: 0 });
    let account = |wallet: &WalletName, ceiling| NewAccount {
        wallet: wallet.clone(),
        asset: votes(),
        overdraft: Overdraft::Never,
        ceiling,
    };
    base.ask(&Command::Open { accounts: vec![account(&here[0], None), account(&here[1], Some(500))] });
    let mint = wallet("@mint");
    base.transfers((1..8).map(|id| post(id, &mint, &here[usize::from(id % 2 == 0)], 50)).collect());
    let hold = |id, expires_after| {
        let (debit, credit, asset) = (here[0].clone(), here[1].clone(), votes());
        transfer(id, Kind::Hold { debit, credit, asset, amount: 5, expires_after })
    };
    base.transfers(vec![hold(20, 5_000), hold(21, 50_000), hold(22, 90_000)]);
    base.transfers(vec![post(30, &here[0], &there, 7)]);
    base.receive(1, prepare(1, 1, 40));
    // What may follow, each from here.
    let mut following = Vec::new();
    let mut follow = |run: &mut dyn FnMut(&mut Base) -> Vec<u8>| {
        let mut same = copy(&base.ledger_chunks(), base.at, base.chain);
        let events = run(&mut same);
        assert!(!events.is_empty());
        following.push(events);
    };
    let (capture, void) =
        (Kind::Capture { hold: TransferId(20), amount: Some(2) }, Kind::Void { hold: TransferId(21) });
    follow(&mut |base| base.transfers(vec![post(50, &here[0], &here[1], 1)]));
    follow(&mut |base| {
        base.transfers(vec![post(51, &here[1], &wallet("@new"), 1), post(52, &mint, &here[0], 9)])
    });
    follow(&mut |base| base.transfers(vec![transfer(53, capture.clone()), transfer(54, void.clone())]));
    follow(&mut |base| base.transfers(vec![transfer(55, Kind::Reverse { transfer: TransferId(2) })]));
    follow(&mut |base| base.transfers(vec![hold(56, 60_000)]));
    follow(&mut |base| base.transfers(vec![post(57, &here[0], &there, 3)]));
    follow(&mut |base| base.ask(&Command::Open { accounts: vec![account(&here[2], Some(9))] }));
    follow(&mut |base| base.receive(2, prepare(2, 2, 58)));
    follow(&mut |base| {
        base.receive(3, ShardMessage::Decide { transaction: 1, prepare: 1, booked: true, at: Time(7) })
    });
    follow(&mut |base| {
        base.receive(3, ShardMessage::Decide { transaction: 1, prepare: 1, booked: false, at: Time(7) })
    });
    follow(&mut |base| base.record(|ledger, at, record| ledger.confirm(at, NOW, 1, &Ok(()), record)).1);
    follow(&mut |base| base.record(|ledger, at, record| ledger.tick(at, NOW.after(70_000), record, 100)).1);
    Saved { chunks: base.ledger_chunks(), at: base.at, chain: base.chain, following }
}

impl Base {
    /// A whole checkpoint, in chunks.
    pub fn ledger_chunks(&mut self) -> Vec<Vec<u8>> {
        self.ledger.checkpoint_begin();
        let mut chunks = Vec::new();
        loop {
            let mut chunk = Vec::new();
            let more = self.ledger.checkpoint_next(&mut chunk, 1_000);
            chunks.push(chunk);
            if !more {
                return chunks;
            }
        }
    }
}

fn restored(chunks: &[Vec<u8>]) -> Result<Ledger, stadium_wallet::Corrupt> {
    let mut ledger = Ledger::new(PLACE, bounds());
    chunks.iter().try_for_each(|chunk| ledger.restore(chunk))?;
    ledger.restore_finish()?;
    Ok(ledger)
}

fn copy(chunks: &[Vec<u8>], at: u64, chain: [u8; 32]) -> Base {
    Base { ledger: restored(chunks).expect("our own checkpoint"), at, chain }
}

/// The section that these events make behind a chain value; none where they are not even framed.
fn section(events: &[u8], before: &[u8; 32], time: Time) -> Option<Vec<u8>> {
    let sha = |parts: &[&[u8]]| -> [u8; 32] {
        let mut hasher = Sha256::new();
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize().into()
    };
    let (mut rest, mut leaves) = (events, Vec::new());
    while let [length, more @ ..] = rest {
        // Events of the body are shorter than 128 bytes, or two bytes are their length.
        let (length, more) = match more {
            [high, more @ ..] if *length >= 0x80 => {
                (usize::from(length & 0x7f) | usize::from(*high) << 7, more)
            }
            more => (usize::from(*length), more),
        };
        let (event, more) = more.split_at_checked(length)?;
        leaves.push(sha(&[&[0], event]));
        rest = more;
    }
    fn root(leaves: &[[u8; 32]], sha: &dyn Fn(&[&[u8]]) -> [u8; 32]) -> [u8; 32] {
        if let [leaf] = leaves {
            return *leaf;
        }
        let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
        sha(&[&[1], &root(left, sha), &root(right, sha)])
    }
    if leaves.is_empty() {
        return None;
    }
    let chain = sha(&[&[2], before, &root(&leaves, &sha), &time.0.to_le_bytes()]);
    Some([events, &chain].concat())
}

/// Reads `data` in every way. Panics on a broken promise; returns whether the events were taken.
pub fn wallet_events(data: &[u8]) -> bool {
    let mut base = base();
    let time = NOW.after(1);
    let framed = section(data, &base.chain, time);
    let bytes = framed.as_deref().unwrap_or(data);
    let section = Section { shard: PLACE.shard, at: base.at, time, offset: 0, events: bytes };
    let _ = Ledger::describe(section, &mut Vec::new());
    let owner = at_home(0).next().expect("one of a hundred");
    for command in [
        Command::History { wallet: owner.clone(), asset: votes(), range: Range::default() },
        Command::BalanceAt { wallet: owner, asset: votes(), at: NOW },
        Command::Find { transfer: TransferId(1) },
    ] {
        if let Ok(Lookup::Walk(mut walk)) = base.ledger.look_up(NOW, &command) {
            let _ = walk.read(&base.ledger, time, bytes);
            let _ = walk.next();
            let _ = walk.finish(&base.ledger);
        }
    }
    if base.ledger.apply(base.at, time, bytes).is_err() {
        return false;
    }
    base.ledger.audit().expect("what is taken balances");
    works(&mut base.ledger, base.at);
    let mut back = restored(&base.ledger_chunks()).expect("our own checkpoint");
    assert_eq!(back.figures().accounts, base.ledger.figures().accounts);
    works(&mut back, base.at + 8_000);
    true
}

/// Restores a checkpoint in which `data` replaces a chunk: its first byte chooses which. Returns whether it
/// was taken. The checkpoint's checksums guard chunks, so a damaged table may be taken with accounts that do
/// not balance, or whose last record is still to come. Such a ledger must only be bounded in memory, audited
/// and saved again; one with another first chunk must work.
pub fn wallet_checkpoint(data: &[u8]) -> bool {
    let Some((&which, chunk)) = data.split_first() else { return false };
    let mut chunks = SAVED.chunks.clone();
    let which = usize::from(which) % chunks.len();
    chunks[which] = chunk.to_vec();
    let Ok(mut ledger) = restored(&chunks) else { return false };
    if which == 0 {
        works(&mut ledger, SAVED.at);
        return true;
    }
    let _ = ledger.audit();
    let mut base = Base { ledger, at: SAVED.at, chain: SAVED.chain };
    restored(&base.ledger_chunks()).expect("our own checkpoint");
    true
}

fn works(ledger: &mut Ledger, at: u64) {
    let mut record = Record::new();
    for (step, span) in [2, 40_000, 100_000].into_iter().enumerate() {
        let (at, now) = (at + 1_024 * (1 + step as u64), NOW.after(span));
        record.begin(0);
        ledger.tick(at, now, &mut record, 100);
        record.begin(0);
        let post = post(1_000_000 + u128::from(span), &wallet("@mint"), &wallet("@shop"), 1);
        let command = Command::Transfer { transfers: vec![post], linked: false, principal: None };
        match ledger.execute(at + 512, now, &command, &mut record) {
            Ok(Executed::Done(Answer::Booked(_))) => {}
            other => panic!("a transfer is answered by {other:?}"),
        }
        ledger.next_deadline();
        ledger.outgoing(0, &mut |_, _, _| {});
        let all = Command::Accounts { prefix: String::new(), asset: None, after: None, accounts_max: 100 };
        ledger.read(now, &all).expect("accounts are always listed");
    }
}
