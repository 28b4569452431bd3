//! The books beside a bill: what is matched, missing on a side, different; and what cannot be read.

use std::collections::BTreeMap;

use stadium_audit::{Booking, Columns, Error, Reconciliation, reconcile};

fn booking(id: u128, reference: &str, asset: &str, amount: u64) -> Booking {
    let hex = format!("{id:032x}");
    Booking {
        transfer: format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]),
        reference: reference.into(),
        asset: asset.into(),
        amount,
        debit: "@store".into(),
        credit: "alice".into(),
        at: id as u64,
    }
}

fn books() -> Vec<Booking> {
    vec![
        booking(1, "order-1", "EUR", 999),
        booking(2, "order-2", "EUR", 1_250),
        booking(3, "order-3", "EUR", 100),
        booking(4, "order-3", "EUR", 200),
        booking(5, "", "VOTE", 7),
    ]
}

fn compare(file: &str, columns: &Columns) -> Result<Reconciliation, Error> {
    let scales = BTreeMap::from([("EUR".to_owned(), 2), ("VOTE".to_owned(), 0)]);
    reconcile(books(), &scales, file.as_bytes(), columns)
}

#[test]
fn rows_and_bookings_meet_by_reference() {
    let file = "Date,Reference,Amount,Currency\n\
                2026-11-01,order-1,9.99,EUR\n\
                2026-11-01,order-2,12.5,EUR\n\
                2026-11-02,order-3,2.00,EUR\n\
                2026-11-02,order-3,-1.00,EUR\n";
    let result = compare(file, &Columns::default()).expect("it can be read");
    assert_eq!((result.matched, result.missing_here.len(), result.different.len()), (4, 0, 0));
    assert_eq!(result.matched_amounts, BTreeMap::from([("EUR".to_owned(), 2_549)]));
    // A row without a reference can be in no file of references.
    assert_eq!(result.missing_there, [booking(5, "", "VOTE", 7)]);
    assert!(!result.agrees());
}

#[test]
fn differing_and_missing_entries_are_reported() {
    let file = "reference;amount;currency\n\
                order-1;9.98;EUR\n\
                order-2;12.50;EUR\n\
                order-3;1.00;EUR\n\
                order-2;12.50;EUR\n\
                order-9;5.00;EUR\n";
    let result = compare(file, &Columns::default()).expect("it can be read");
    assert_eq!(result.matched, 2);
    let [different] = result.different.as_slice() else { panic!("{result:#?}") };
    assert_eq!((different.row.line, different.row.amount, different.booking.amount), (2, 998, 999));
    assert_eq!(different.what, ["amount"]);
    // Twice in the file and once in the books; and one that the books never heard of.
    let here: Vec<(u64, &str)> = result.missing_here.iter().map(|row| (row.line, row.key.as_str())).collect();
    assert_eq!(here, [(5, "order-2"), (6, "order-9")]);
    let there: Vec<u64> = result.missing_there.iter().map(|booking| booking.amount).collect();
    assert_eq!(there, [200, 7]);
}

#[test]
fn rows_and_bookings_meet_by_id() {
    let file = "id\tamount\n00000000000000000000000000000005\t7\n00000000-0000-0000-0000-000000000006\t1\n";
    let votes = Columns { asset_of_all: Some("VOTE".into()), ..Columns::default() };
    let result = compare(file, &votes).expect("it can be read");
    assert_eq!((result.matched, result.missing_here.len(), result.missing_there.len()), (1, 1, 4));
}

#[test]
fn columns_can_be_named() {
    let file = "id,Store Order,Brutto,date\nx1,order-2,\"12.50\",yesterday\n";
    let columns = Columns {
        reference: Some("store order".into()),
        amount: Some("Brutto".into()),
        asset_of_all: Some("EUR".into()),
        ..Columns::default()
    };
    let result = compare(file, &columns).expect("it can be read");
    assert_eq!(result.matched, 1, "the reference was named, so ids are not looked at");
}

#[test]
fn an_unreadable_entry_is_reported_with_its_line() {
    let wrong = |file: &str, code: &str, line: Option<u64>| match compare(file, &Columns::default()) {
        Err(Error::Csv { line: at, code: is, what }) => {
            assert_eq!((is, at), (code, line), "{what}: {file:?}")
        }
        other => panic!("{other:?}: {file:?}"),
    };
    wrong("reference,total\nx,1\n", "ADT-041", Some(1));
    wrong("amount,currency\n1,EUR\n", "ADT-041", Some(1));
    wrong("reference,currency\nx,EUR\n", "ADT-041", Some(1));
    wrong("", "ADT-041", Some(1));
    wrong("reference,amount,currency\na,1.00,EUR\nb,1.00\n", "ADT-040", Some(3));
    wrong("reference,amount,currency\na,1.00,EUR\nb,1.005,EUR\n", "ADT-043", Some(3));
    wrong("reference,amount,currency\na,\"1,000.00\",EUR\n", "ADT-043", Some(2));
    wrong("reference,amount,currency\na,,EUR\n", "ADT-043", Some(2));
    wrong("reference,amount,currency\na,1,eur\n", "ADT-042", Some(2));
    wrong("reference,amount,currency\n,1,EUR\n", "ADT-044", Some(2));
    wrong("id,amount,currency\nx,1,EUR\n", "ADT-044", Some(2));
    let scales = BTreeMap::from([("EUR".to_owned(), 2)]);
    let latin: &[u8] = b"reference,amount,currency\na,1,EUR\n\xe4,1,EUR\n";
    let error = reconcile(books(), &scales, latin, &Columns::default()).expect_err("it is not UTF-8");
    assert!(matches!(error, Error::Csv { line: Some(3), code: "ADT-040", .. }), "{error}");
    let named = Columns { amount: Some("netto".into()), ..Columns::default() };
    let error =
        compare("reference,amount,currency\n", &named).expect_err("there is no such column").to_string();
    assert!(error.contains("netto") && error.contains("reference, amount, currency"), "{error}");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let file = "\u{feff}reference,amount,currency\r\norder-1,9.99,EUR\r\n";
    assert_eq!(compare(file, &Columns::default()).expect("it can be read").matched, 1);
}
