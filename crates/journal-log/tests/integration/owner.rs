//! The rule of owners, as tables: claims, dense offsets, gaps, fences, failures, trims.
//!
//! The words of the tables are explained in `script`.

use stadium_journal::{Epoch, Position};
use stadium_journal_log::{Claim, Mark, Offset, Sequence, WriterId};

use crate::script::{play, play_from};

/// The rows of an owner that has claimed an empty log.
const SERVING: [(&str, &str); 3] =
    [("claim", "find end"), ("end 0", "append 1/A#0"), ("appended A#0 0", "serving 1/A")];

/// Those rows and others.
fn serving_and(rows: &[(&str, &str)]) {
    play(&[&SERVING, rows].concat());
}

#[test]
fn an_owner_is_acknowledged_in_order_without_reading() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("appended A#1 1", "durable A#1@0"),
        ("append @1", "append 1/A#2"),
        ("append @2", "append 1/A#3"),
        ("appended A#2 2", "durable A#2@1"),
        ("appended A#3 3", "durable A#3@2"),
    ]);
}

#[test]
fn four_messages_are_on_their_way_at_most() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("append @2", "append 1/A#3"),
        ("append @3", "append 1/A#4"),
        ("refused @4", ""),
        ("appended A#1 1", "durable A#1@0"),
        ("append @4", "append 1/A#5"),
        ("refused @5", ""),
        // Outcomes that become known together are reported as one.
        ("appended A#5 5", ""),
        ("appended A#4 4", ""),
        ("appended A#3 3", ""),
        ("appended A#2 2", "durable A#5@4"),
    ]);
}

#[test]
fn an_owner_refuses_what_it_cannot_append() {
    play(&[("claim", "find end"), ("refused @0", ""), ("end 0", "append 1/A#0"), ("refused @0", "")]);
    serving_and(&[("append @3", "append 1/A#1"), ("refused @3", ""), ("append @4", "append 1/A#2")]);
}

#[test]
fn a_claim_reads_what_is_there_and_takes_a_greater_epoch() {
    play(&[
        ("claim", "find end"),
        ("end 3", "read 0..3"),
        ("read 0 4/B#0", ""),
        ("read 1 4/B#1 @0", ""),
        ("read 2 4/B#2 @1", "append 5/A#0"),
        // Between the end and its fence B went on.
        ("appended A#0 4", "read 3..5"),
        ("read 3 4/B#3 @2", ""),
        ("read 4 5/A#0", "serving 5/A"),
        ("refused @2", ""),
        ("append @3", "append 5/A#1"),
        ("appended A#1 5", "durable A#1@3"),
    ]);
}

#[test]
fn a_claim_goes_on_from_a_mark() {
    let mark = Mark {
        offset: Offset(40),
        claim: Claim { epoch: Epoch(7), writer: WriterId(u64::from(b'B')) },
        next: Sequence(3),
        end: Position(80),
    };
    play_from(
        mark,
        &[
            ("claim", "find end"),
            ("end 42", "read 40..42"),
            ("read 40 7/B#3 @10", ""),
            ("read 41 7/B#3 @10", "append 8/A#0"),
            ("appended A#0 42", "serving 8/A"),
            ("refused @10", ""),
            ("append @11", "append 8/A#1"),
        ],
    );
}

#[test]
fn of_two_fences_of_one_epoch_the_first_counts() {
    play(&[
        ("claim", "find end"),
        ("end 0", "append 1/A#0"),
        ("appended A#0 1", "read 0..2"),
        ("read 0 1/B#0", "fenced by 1/B"),
        ("read 1 1/A#0", ""),
        ("refused @0", ""),
    ]);
}

#[test]
fn stale_messages_and_copies_in_a_gap_mean_go_on() {
    play(&[
        ("claim", "find end"),
        ("end 1", "read 0..1"),
        ("read 0 1/B#0", "append 2/A#0"),
        ("appended A#0 1", "serving 2/A"),
        ("append @0", "append 2/A#1"),
        ("append @1", "append 2/A#2"),
        // At 2 there is a message of B, and at 4 a copy of the first.
        ("appended A#1 3", "read 2..3"),
        ("appended A#2 5", ""),
        ("read 2 1/B#1 @0", "durable A#1@0, read 4..5"),
        // A broker returns whole batches: more than was asked for, and what was taken before.
        ("read 3 2/A#1 @0", ""),
        ("read 4 2/A#1 @0", "durable A#2@1"),
        ("read 5 2/A#2 @1", ""),
    ]);
}

#[test]
fn a_message_before_what_it_builds_on_is_sent_again() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("appended A#2 1", ""),
        ("appended A#1 2", "read 1..2"),
        ("read 1 1/A#2 @1", "durable A#1@0, append 1/A#2"),
        ("appended A#2 3", "durable A#2@1"),
    ]);
}

#[test]
fn an_answer_to_an_earlier_copy_changes_nothing() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("appended A#1 2", "read 1..2"),
        ("read 1 1/A#2 @1", "durable A#1@0"),
        // The answer to its premature first copy comes after that to the second.
        ("appended A#2 4", "read 3..4"),
        ("appended A#2 1", ""),
        ("appended A#1 3", ""),
        ("read 3 1/A#1 @0", "durable A#2@1"),
        ("appended A#2 4", ""),
    ]);
}

#[test]
fn a_fence_in_a_gap_ends_the_owner_and_what_follows_it_is_given_up() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("append @2", "append 1/A#3"),
        ("appended A#1 1", "durable A#1@0"),
        // The second stands before the fence, the third behind it.
        ("appended A#3 4", ""),
        ("appended A#2 2", "durable A#2@1, read 3..4"),
        ("read 3 2/B#0", "given up A#3, fenced by 2/B"),
        // It goes on as a reader.
        ("read 4 1/A#3 @2", ""),
        ("read 5 2/B#1 @2", ""),
        ("refused @3", ""),
        ("failed A#3", ""),
        ("again C", ""),
    ]);
}

#[test]
fn a_message_is_never_acknowledged_behind_a_fence() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("appended A#1 2", "read 1..2"),
        ("read 1 2/B#0", "given up A#1, fenced by 2/B"),
        ("read 2 1/A#1 @0", ""),
    ]);
}

#[test]
fn after_a_failure_the_log_tells_what_became_of_each_message() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("append @2", "append 1/A#3"),
        ("failed A#1", "uncertain"),
        ("refused @3", ""),
        // Answers to the claim that is being replaced are not needed.
        ("appended A#2 2", ""),
        ("again B", "find end"),
        ("end 2", "read 1..2"),
        ("read 1 1/A#1 @0", "durable A#1@0, append 2/B#0"),
        ("appended A#2 2", ""),
        // One arrives between the end and the fence, one behind the fence.
        ("appended B#0 3", "read 2..4"),
        ("read 2 1/A#2 @1", "durable A#2@1"),
        ("read 3 2/B#0", "given up A#3, serving 2/B"),
        ("append @2", "append 2/B#1"),
        ("appended B#1 5", "read 4..5"),
        ("read 4 1/A#3 @2", "durable B#1@2"),
    ]);
}

#[test]
fn an_owner_that_claims_again_yields_to_whoever_claimed_meanwhile() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("failed A#1", "uncertain"),
        ("again C", "find end"),
        ("end 3", "read 1..3"),
        ("read 1 1/A#1 @0", "durable A#1@0"),
        ("read 2 2/B#0", "fenced by 2/B"),
    ]);
}

#[test]
fn a_fence_whose_outcome_is_unknown_is_sent_again() {
    play(&[
        ("claim", "find end"),
        ("end 0", "append 1/A#0"),
        ("failed A#0", "find end"),
        ("end 0", "append 1/A#0"),
        // Both copies arrive; the answer to the second comes first.
        ("appended A#0 1", "read 0..2"),
        ("read 0 1/A#0", "serving 1/A"),
        ("appended A#0 0", ""),
        ("append @0", "append 1/A#1"),
        ("appended A#1 2", ""),
        ("read 1 1/A#0", "durable A#1@0"),
    ]);
    // The late answer to the first copy comes while the end is looked for.
    play(&[
        ("claim", "find end"),
        ("end 0", "append 1/A#0"),
        ("failed A#0", "find end"),
        ("appended A#0 0", "serving 1/A"),
        ("end 1", ""),
    ]);
    // Somebody else has claimed meanwhile.
    play(&[
        ("claim", "find end"),
        ("end 0", "append 1/A#0"),
        ("failed A#0", "find end"),
        ("end 1", "read 0..1"),
        ("read 0 1/B#0", "fenced by 1/B"),
    ]);
}

#[test]
fn answers_to_others_and_to_settled_messages_do_nothing() {
    play(&[("claim", "find end"), ("appended A#0 0", ""), ("end 0", "append 1/A#0"), ("appended B#0 0", "")]);
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("appended B#1 1", ""),
        ("failed B#1", ""),
        ("failed A#2", ""),
        ("appended A#2 2", ""),
        ("appended A#1 1", "durable A#1@0"),
        ("failed A#1", ""),
        ("appended A#1 1", ""),
        ("end 0", ""),
        ("again C", ""),
    ]);
}

#[test]
fn trimmed_messages_end_an_owner_that_needs_them() {
    play(&[("claim", "find end"), ("trimmed 3", "trimmed"), ("end 3", "")]);
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("appended A#1 1", "durable A#1@0"),
        ("trimmed 2", ""),
        ("appended A#2 5", "read 2..5"),
        ("trimmed 3", "unknown A#2, trimmed"),
    ]);
}

#[test]
fn a_log_that_ends_before_what_it_had_is_refused() {
    let mark = Mark { offset: Offset(5), ..Mark::START };
    play_from(mark, &[("claim", "find end"), ("end 4", "shortened")]);
    play_from(mark, &[("claim", "find end"), ("end 5", "append 1/A#0"), ("appended A#0 4", "shortened")]);
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("appended A#1 1", "durable A#1@0"),
        // Another message stood there.
        ("appended A#2 1", "unknown A#2, shortened"),
    ]);
}

#[test]
fn a_partition_with_gaps_is_refused() {
    play(&[
        ("claim", "find end"),
        ("end 3", "read 0..3"),
        ("read 0 4/B#0", ""),
        ("read 2 4/B#1 @0", "gap"),
        ("read 1 4/B#1 @0", ""),
    ]);
}

#[test]
fn nobody_claims_after_the_greatest_epoch() {
    let fence = format!("read 0 {}/B#0", u64::MAX);
    play(&[("claim", "find end"), ("end 1", "read 0..1"), (&fence, "no epochs")]);
}

#[test]
fn what_an_owner_leaves_when_it_is_abandoned_is_unknown() {
    serving_and(&[
        ("append @0", "append 1/A#1"),
        ("append @1", "append 1/A#2"),
        ("appended A#1 1", "durable A#1@0"),
        ("abandon", "unknown A#2"),
        ("abandon", ""),
        ("appended A#2 2", ""),
        ("refused @2", ""),
    ]);
}

#[test]
fn an_owner_becomes_a_reader_where_it_ended() {
    let owner = play(
        &[
            &SERVING[..],
            &[
                ("append @0", "append 1/A#1"),
                ("appended A#1 2", "read 1..2"),
                ("read 1 2/B#0", "given up A#1, fenced by 2/B"),
                ("read 2 1/A#1 @0", ""),
                ("read 3 2/B#1 @0", ""),
            ],
        ]
        .concat(),
    );
    assert!(owner.has_ended() && !owner.is_serving());
    let counts = owner.reader().counts();
    assert_eq!((counts.fences, counts.accepted, counts.stale), (2, 1, 1));
    let mark = owner.into_reader().mark();
    assert_eq!((mark.offset, mark.next, mark.end), (Offset(4), Sequence(2), Position(8)));
}
