//! Recurring jobs, in time zones whose clocks change.

use stadium_queue::{Answer, Command, Cron, Missed, PayloadAt, ScheduleView, Time};

use crate::harness::{Harness, checkpoint, job, key, queue, restored};

/// Milliseconds since 1970 of a time in UTC, written as people do.
fn utc(text: &str) -> Time {
    let at: jiff::Timestamp = text.parse().unwrap();
    Time(at.as_millisecond() as u64)
}

fn harness_at(text: &str) -> Harness {
    let mut harness = Harness::new();
    harness.now = utc(text);
    harness
}

fn schedule(harness: &mut Harness, expression: &str, time_zone: &str, missed: Missed) {
    let cron = Cron { expression: expression.into(), time_zone: time_zone.into(), missed };
    let command = Command::Schedule {
        queue: queue("mail"),
        name: key("it"),
        cron: Box::new(cron),
        job: job("go"),
        principal: None,
    };
    harness.done(command);
}

fn view(harness: &mut Harness) -> ScheduleView<PayloadAt> {
    match harness.ask(Command::Schedules { queue: queue("mail") }).unwrap() {
        Answer::Schedules(mut schedules) => schedules.remove(0),
        other => panic!("{other:?}"),
    }
}

/// Lets a schedule come so many times, at its own deadlines; when its jobs were due.
fn due_times(harness: &mut Harness, times: usize) -> Vec<String> {
    let mut seen = Vec::new();
    while seen.len() < times {
        harness.now = view(harness).next.unwrap();
        harness.tick();
        for reserved in harness.try_reserve("mail", 100).unwrap() {
            seen.push(jiff::Timestamp::from_millisecond(reserved.due.0 as i64).unwrap().to_string());
            harness.settle_all(vec![reserved.lease]);
        }
    }
    seen
}

#[test]
fn a_schedule_puts_its_job_at_its_times_with_seconds_where_asked() {
    let mut harness = harness_at("2026-11-22T10:00:30Z");
    schedule(&mut harness, "*/20 * * * * *", "UTC", Missed::Once);
    let seen = due_times(&mut harness, 3);
    assert_eq!(seen, ["2026-11-22T10:00:40Z", "2026-11-22T10:01:00Z", "2026-11-22T10:01:20Z"]);
    let last = view(&mut harness).last.unwrap();
    assert_eq!(last.0, utc("2026-11-22T10:01:20Z"));
    assert_eq!(harness.history(last.1).len(), 3);
}

#[test]
fn nicknames_are_understood() {
    let mut harness = harness_at("2026-11-22T10:00:30Z");
    schedule(&mut harness, "@hourly", "", Missed::Once);
    assert_eq!(due_times(&mut harness, 1), ["2026-11-22T11:00:00Z"]);
    schedule(&mut harness, "@daily", "Asia/Tokyo", Missed::Once);
    assert_eq!(due_times(&mut harness, 1), ["2026-11-22T15:00:00Z"]);
}

#[test]
fn a_named_hour_that_does_not_exist_comes_right_behind_the_gap() {
    // Clocks in Berlin went from 02:00 to 03:00 on 29 March 2026.
    let mut harness = harness_at("2026-03-28T00:00:00Z");
    schedule(&mut harness, "30 2 * * *", "Europe/Berlin", Missed::Once);
    let seen = due_times(&mut harness, 3);
    assert_eq!(seen, ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
}

#[test]
fn a_named_hour_that_comes_twice_comes_once_and_a_wildcard_both_times() {
    // Clocks in Berlin went from 03:00 to 02:00 on 25 October 2026, at 01:00 UTC.
    let mut harness = harness_at("2026-10-24T12:00:00Z");
    schedule(&mut harness, "30 2 * * *", "Europe/Berlin", Missed::Once);
    assert_eq!(due_times(&mut harness, 2), ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    let mut harness = harness_at("2026-10-24T23:45:00Z");
    schedule(&mut harness, "30 * * * *", "Europe/Berlin", Missed::Once);
    let seen = due_times(&mut harness, 3);
    assert_eq!(seen, ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]);
}

#[test]
fn occurrences_while_the_server_was_down_are_made_up_for_as_asked() {
    for (missed, jobs) in [(Missed::Once, 1), (Missed::Skip, 0), (Missed::All, 5)] {
        let mut harness = harness_at("2026-11-22T10:30:00Z");
        schedule(&mut harness, "@hourly", "UTC", missed);
        harness.now = utc("2026-11-22T15:30:00Z");
        harness.crash();
        assert_eq!(harness.stats("mail").due, jobs, "{missed:?}");
        assert_eq!(view(&mut harness).next, Some(utc("2026-11-22T16:00:00Z")));
    }
    let mut harness = harness_at("2026-11-22T10:30:00Z");
    schedule(&mut harness, "* * * * *", "UTC", Missed::All);
    harness.pass(7 * 24 * 3_600_000);
    assert_eq!(harness.stats("mail").due, 100, "a hundred at most");
}

#[test]
fn the_same_name_replaces_a_schedule_and_unschedule_ends_it() {
    let mut harness = harness_at("2026-11-22T10:00:30Z");
    schedule(&mut harness, "@daily", "UTC", Missed::Once);
    schedule(&mut harness, "@hourly", "UTC", Missed::Once);
    assert_eq!(due_times(&mut harness, 1), ["2026-11-22T11:00:00Z"]);
    let chunks = checkpoint(&mut harness.queues, 100);
    harness.queues = restored(harness.place, &harness.bounds, &chunks);
    assert_eq!(due_times(&mut harness, 1), ["2026-11-22T12:00:00Z"]);
    harness.done(Command::Unschedule { queue: queue("mail"), name: key("it") });
    harness.crash();
    harness.pass(24 * 3_600_000);
    assert_eq!(harness.queues.jobs(), 0);
}

#[test]
fn a_schedule_of_a_full_queue_skips_the_occurrence() {
    let mut harness = harness_at("2026-11-22T10:00:30Z");
    harness.declare("mail", stadium_queue::QueueSettings { jobs_max: 1, ..Default::default() });
    schedule(&mut harness, "* * * * *", "UTC", Missed::Once);
    harness.pass(60_000);
    harness.pass(60_000);
    assert_eq!(harness.stats("mail").due, 1);
}
