//! The things that an erasure keeps, and the reasons in words.

use stadium_wallet::AccountView;

use crate::users::receipt::Kept;

/// Whether an account has nothing and owes nothing.
pub(crate) fn is_empty(account: &AccountView) -> bool {
    account.balance.posted == 0 && account.balance.held == 0
}

/// Of the accounts of a user.
pub(crate) fn of_wallets(accounts: &[AccountView]) -> Vec<Kept> {
    let entries: u64 = accounts.iter().map(|account| account.entries).sum();
    let open = accounts.iter().filter(|account| !is_empty(account)).count() as u64;
    let mut kept = Vec::new();
    if !accounts.is_empty() {
        kept.push(Kept {
            kind: "wallet_entries".to_owned(),
            count: Some(entries),
            why: "the books are a hash chain in which every transfer names its wallets: a changed name \
                  would void all receipts; kept as accounting records"
                .to_owned(),
        });
    }
    if open > 0 {
        kept.push(Kept {
            kind: "wallet_accounts_open".to_owned(),
            count: Some(open),
            why: "they are not empty, and the erasure was asked to keep balances".to_owned(),
        });
    }
    kept
}

/// Of queues that were not read to their end.
pub(crate) fn not_searched(queues: &[String]) -> Option<Kept> {
    (!queues.is_empty()).then(|| Kept {
        kind: "jobs_not_searched".to_owned(),
        count: None,
        why: format!("these queues changed too fast to be read to their end: {}", queues.join(", ")),
    })
}

/// Outside of the state that is searched: so many lines of the audit log, and things that nothing
/// counts.
pub(crate) fn elsewhere(lines: u64) -> Vec<Kept> {
    let mut kept = Vec::new();
    if lines > 0 {
        kept.push(Kept {
            kind: "audit_lines".to_owned(),
            count: Some(lines),
            why: "each line continues a hash chain, and proves who changed what; they go with the \
                  oldest files of the log (http.audit_files_max)"
                .to_owned(),
        });
    }
    let uncounted = [
        (
            "push_records",
            "pushes to several users stay with their counts until the time is over for which their app \
             remembers settled pushes; no delivery names a removed device",
        ),
        (
            "journal",
            "bytes of removed things stay in segments until these are trimmed; segments with records \
             of wallets are the books and are never trimmed",
        ),
        (
            "backups",
            "backups that were made before have the user until they are removed; a restore carries \
             this erasure out again before the server serves",
        ),
    ];
    kept.extend(uncounted.map(|(kind, why)| Kept {
        kind: kind.to_owned(),
        count: None,
        why: why.to_owned(),
    }));
    kept
}
