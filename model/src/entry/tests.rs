use std::fmt::Write as _;
use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::id::Instance;
use crate::name::EntryName;
use crate::outcome::{Ending, Evidence, ExitStatus};

fn result(outcome: Outcome) -> StopResult {
    StopResult {
        entry: EntryName::parse("ledger").unwrap(),
        instance: Instance::local(Uuid::nil()),
        launch: LaunchNumber::NONE.next(),
        ending: Ending {
            outcome,
            cause: Cause::Crashed,
            evidence: Some(Evidence::Tree),
            exit_status: Some(ExitStatus::Code(1)),
            duration: Duration::from_millis(3),
            cleanup: Vec::new(),
        },
    }
}

fn ended(outcome: Outcome) -> Event {
    Event::Ended {
        result: result(outcome),
        dice: Dice(0),
    }
}

fn free() -> Surroundings {
    Surroundings {
        consumers_idle: true,
        ..Surroundings::default()
    }
}

fn without_service() -> Surroundings {
    let clock = vec![ServiceName::parse("clock").unwrap()];
    Surroundings {
        missing: clock.clone(),
        lacking: clock,
        ..free()
    }
}

fn used() -> Surroundings {
    Surroundings {
        consumers_idle: false,
        ..free()
    }
}

fn at(millis: u64) -> Timestamp {
    Timestamp(millis * 1_000_000)
}

fn drive(policy: RetryPolicy, steps: &[(Event, Surroundings)]) -> Entry {
    let mut entry = Entry::new(Desired::Running, policy);
    for (event, around) in steps {
        entry.step(event.clone(), around, at(0));
    }
    entry
}

fn states() -> Vec<(&'static str, Entry)> {
    let policy = RetryPolicy::default;
    let launch = (Event::Look, free());
    let ready = (Event::Ready, free());
    let run = [launch.clone(), ready.clone()];
    let with = |more: &[(Event, Surroundings)]| [run.as_slice(), more].concat();
    vec![
        ("Stopped", drive(policy(), &[(Event::Stop(Ask(9)), free())])),
        (
            "Waiting",
            drive(policy(), &[(Event::Look, without_service())]),
        ),
        ("Starting", drive(policy(), &run[..1])),
        ("Running", drive(policy(), &run)),
        (
            "Running, used",
            drive(policy(), &with(&[(Event::Look, used())])),
        ),
        (
            "StoppingConsumers",
            drive(policy(), &with(&[(Event::Stop(Ask(9)), used())])),
        ),
        (
            "Stopping",
            drive(policy(), &with(&[(Event::Stop(Ask(9)), free())])),
        ),
        (
            "Crashed",
            drive(policy(), &with(&[(Event::Withdrawn, free())])),
        ),
        (
            "BackingOff",
            drive(policy(), &with(&[(ended(Outcome::Exited), free())])),
        ),
        (
            "Failed",
            drive(
                RetryPolicy::None,
                &with(&[(ended(Outcome::Exited), free())]),
            ),
        ),
        (
            "Blocked",
            drive(
                policy(),
                &with(&[(
                    Event::Unconfirmed(result(Outcome::TerminationUnconfirmed)),
                    free(),
                )]),
            ),
        ),
    ]
}

/// SUP-34 SUP-28 SUP-04: every state with every event.
#[test]
fn transition_table() {
    let ask = Ask(1);
    let events = [
        ("start", Event::Start(ask)),
        ("stop", Event::Stop(ask)),
        ("restart", Event::Restart(ask)),
        ("kill", Event::Kill(ask)),
        ("reset", Event::Reset(ask)),
        ("remove", Event::Remove(ask)),
        ("shutdown", Event::Shutdown(ask)),
        (
            "redeclared",
            Event::Redeclared {
                replace: true,
                retry: RetryPolicy::default(),
            },
        ),
        (
            "retry changed",
            Event::Redeclared {
                replace: false,
                retry: RetryPolicy::default(),
            },
        ),
        ("look", Event::Look),
        ("service lost", Event::Look),
        ("ready", Event::Ready),
        ("withdrawn", Event::Withdrawn),
        ("ended", ended(Outcome::Exited)),
        (
            "unconfirmed",
            Event::Unconfirmed(result(Outcome::TerminationUnconfirmed)),
        ),
        ("tick", Event::Tick),
    ];
    let mut table = String::new();
    for (state, entry) in states() {
        for (name, event) in &events {
            let mut next = entry.clone();
            let around = match (*name, state) {
                ("service lost", _) => without_service(),
                (_, "Running, used" | "StoppingConsumers") => used(),
                _ => free(),
            };
            let effects: Vec<String> = next
                .step(event.clone(), &around, at(60_000))
                .iter()
                .map(|effect| match effect {
                    Effect::Answer(Ask(who), answer) => {
                        let answer = format!("{answer:?}");
                        let short: String = answer
                            .split(['{', ':'])
                            .next()
                            .unwrap_or_default()
                            .chars()
                            .take(40)
                            .collect();
                        format!("Answer({who}, {})", short.trim())
                    }
                    Effect::WakeAt(at_) => format!("WakeAt(+{:?})", at_.since(at(60_000))),
                    Effect::Unblocked(_) => "Unblocked".to_owned(),
                    other => format!("{other:?}"),
                })
                .collect();
            let after = format!("{:?}", next.state());
            let after = after
                .split([' ', '('])
                .next()
                .unwrap_or_default()
                .to_owned();
            writeln!(
                table,
                "{state:17} | {name:13} -> {after:17} {}",
                effects.join(", ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// SUP-28: past the cap the entry is failed, shows the last exit, and waits for `reset`.
#[test]
fn past_the_cap_an_entry_waits_for_a_person() {
    let mut entry = drive(RetryPolicy::default(), &[(Event::Look, free())]);
    for round in 0..11 {
        entry.step(ended(Outcome::Exited), &free(), at(round));
        if let State::BackingOff { until } = entry.state() {
            assert!(
                entry
                    .step(Event::Tick, &free(), until)
                    .contains(&Effect::Launch)
            );
        }
    }
    assert_eq!(entry.state(), State::Failed);
    assert!(
        entry.reason(at(11)).contains("exit code 1"),
        "{}",
        entry.reason(at(11))
    );
    assert!(
        entry
            .step(Event::Tick, &free(), at(1_000_000_000))
            .is_empty()
    );
    assert!(
        entry
            .step(Event::Reset(Ask(1)), &free(), at(12))
            .contains(&Effect::Launch)
    );
}

/// SUP-28: the return of a service it uses is a change that a failed entry waits for.
#[test]
fn failed_entry_starts_when_its_dependencies_change() {
    let mut entry = drive(
        RetryPolicy::None,
        &[(Event::Look, free()), (ended(Outcome::Exited), free())],
    );
    assert_eq!(entry.state(), State::Failed);
    entry.step(Event::Look, &without_service(), at(1));
    assert_eq!(entry.state(), State::Waiting);
    assert!(
        entry
            .step(Event::Look, &free(), at(2))
            .contains(&Effect::Launch)
    );
}

/// SUP-28: requested stops are not counted.
#[test]
fn requested_stops_are_no_restarts() {
    let mut entry = drive(
        RetryPolicy::default(),
        &[(Event::Look, free()), (Event::Ready, free())],
    );
    for round in 0..50 {
        entry.step(Event::Restart(Ask(round)), &free(), at(round));
        let effects = entry.step(ended(Outcome::Exited), &free(), at(round));
        assert!(
            effects.contains(&Effect::Launch),
            "round {round}: {effects:?}"
        );
        entry.step(Event::Ready, &free(), at(round));
    }
    assert_eq!(entry.restarts(), 0);
}

/// SUP-10: an entry killed in 3 of its last 5 stops gets a hint.
#[test]
fn three_kills_in_five_stops_give_a_hint() {
    let mut entry = drive(
        RetryPolicy::default(),
        &[(Event::Look, free()), (Event::Ready, free())],
    );
    for outcome in [
        Outcome::Killed,
        Outcome::Exited,
        Outcome::Killed,
        Outcome::Exited,
        Outcome::Killed,
    ] {
        assert_eq!(entry.hint(), None);
        entry.step(Event::Restart(Ask(1)), &free(), at(1));
        entry.step(ended(outcome), &free(), at(1));
        entry.step(Event::Ready, &free(), at(1));
    }
    assert!(
        entry
            .hint()
            .is_some_and(|hint| hint.contains("shutdown_timeout"))
    );
}

/// SUP-34: `kill` works during a graceful stop, and both callers get the one result.
#[test]
fn kill_works_during_a_graceful_stop() {
    let mut entry = drive(
        RetryPolicy::default(),
        &[(Event::Look, free()), (Event::Ready, free())],
    );
    entry.step(Event::Stop(Ask(1)), &free(), at(1));
    assert!(
        entry
            .step(Event::Kill(Ask(2)), &free(), at(2))
            .contains(&Effect::KillLaunch(Cause::Requested))
    );
    let effects = entry.step(ended(Outcome::Killed), &free(), at(3));
    let answered = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Answer(_, Answer::Stopped(Some(_)))))
        .count();
    assert_eq!(answered, 2);
}

/// SUP-07: the late exit lifts the block, says so, and what is wanted happens.
#[test]
fn late_exit_lifts_the_block() {
    let mut entry = drive(
        RetryPolicy::default(),
        &[(Event::Look, free()), (Event::Ready, free())],
    );
    entry.step(Event::Kill(Ask(1)), &free(), at(1));
    entry.step(
        Event::Unconfirmed(result(Outcome::TerminationUnconfirmed)),
        &free(),
        at(2),
    );
    let effects = entry.step(Event::Start(Ask(2)), &free(), at(3));
    assert!(matches!(
        effects.as_slice(),
        [Effect::Answer(
            Ask(2),
            Answer::Refused(Refusal::Unconfirmed(_))
        )]
    ));
    let effects = entry.step(ended(Outcome::Killed), &free(), at(4));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Unblocked(_)))
    );
    assert_eq!(entry.state(), State::Stopped);
}

/// SUP-17 SUP-02: what an earlier start left over comes first, whatever is asked meanwhile.
#[test]
fn inherited_launch_ends_before_anything_is_launched() {
    let mut entry = Entry::new(Desired::Running, RetryPolicy::default());
    entry.inherit(LaunchNumber::from_stored(7));
    assert!(entry.step(Event::Look, &free(), at(1)).is_empty());
    assert!(entry.step(Event::Start(Ask(1)), &free(), at(2)).is_empty());
    assert!(
        entry
            .step(Event::Restart(Ask(2)), &free(), at(3))
            .is_empty()
    );
    assert!(entry.reason(at(4)).contains('7'), "{}", entry.reason(at(4)));
    let effects = entry.step(ended(Outcome::Exited), &free(), at(5));
    assert_eq!(effects, [Effect::Launch]);
    assert_eq!(entry.restarts(), 0);
}

/// SUP-34: who goes away is forgotten, and nothing else changes.
#[test]
fn callers_that_go_away_leave_nothing_behind() {
    let mut entry = drive(RetryPolicy::default(), &[(Event::Look, without_service())]);
    for caller in 0..1000 {
        entry.step(Event::Start(Ask(caller)), &without_service(), at(1));
        entry.step(Event::Forget(Ask(caller)), &without_service(), at(2));
    }
    assert_eq!(entry, {
        let mut fresh = drive(RetryPolicy::default(), &[(Event::Look, without_service())]);
        fresh.step(Event::Look, &without_service(), at(2));
        fresh
    });
}
