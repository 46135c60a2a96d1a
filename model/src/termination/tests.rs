use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

const START: Timestamp = Timestamp(1_000_000_000);

fn at(millis: u64) -> Timestamp {
    START.plus(Duration::from_millis(millis))
}

fn stop() -> Event {
    Event::Stop {
        cause: Cause::Requested,
        graceful: Some(Duration::from_secs(5)),
    }
}

fn gone(killed: bool) -> Event {
    Event::FamilyGone {
        evidence: Evidence::Tree,
        killed,
    }
}

fn events() -> Vec<(&'static str, Event)> {
    vec![
        ("stop", stop()),
        (
            "stop, no plugin",
            Event::Stop {
                cause: Cause::Replaced,
                graceful: None,
            },
        ),
        (
            "kill",
            Event::Kill {
                cause: Cause::Requested,
            },
        ),
        ("answered", Event::ShutdownAnswered(Ok(()))),
        (
            "finalizer failed",
            Event::ShutdownAnswered(Err("flush".to_owned())),
        ),
        (
            "broken",
            Event::Broken {
                cause: Cause::Crashed,
            },
        ),
        ("exited 0", Event::ProcessExited(Some(ExitStatus::Code(0)))),
        (
            "signal 9",
            Event::ProcessExited(Some(ExitStatus::Signal(9))),
        ),
        ("out of memory", Event::OutOfMemory),
        ("gone", gone(false)),
        ("gone, killed", gone(true)),
        ("tick", Event::Tick),
    ]
}

/// Drives a fresh machine to each state by the events that lead there.
fn states() -> Vec<(&'static str, Termination, Timestamp)> {
    let drive = |steps: &[(Event, u64)]| {
        let mut machine = Termination::new();
        for (event, millis) in steps {
            machine.step(event.clone(), at(*millis));
        }
        machine
    };
    let kill = Event::Kill {
        cause: Cause::Requested,
    };
    vec![
        ("Running", drive(&[]), at(0)),
        ("Graceful, in time", drive(&[(stop(), 0)]), at(10)),
        ("Graceful, late", drive(&[(stop(), 0)]), at(5000)),
        (
            "ExitWindow, in time",
            drive(&[(stop(), 0), (Event::ShutdownAnswered(Ok(())), 10)]),
            at(20),
        ),
        (
            "ExitWindow, late",
            drive(&[(stop(), 0), (Event::ShutdownAnswered(Ok(())), 10)]),
            at(1010),
        ),
        (
            "ExitWindow, broken",
            drive(&[(
                Event::Broken {
                    cause: Cause::Crashed,
                },
                0,
            )]),
            at(20),
        ),
        (
            "Interrupted, late",
            drive(&[(stop(), 0), (Event::Tick, 5000), (Event::Tick, 6000)]),
            at(7000),
        ),
        ("Killed, in time", drive(&[(kill.clone(), 0)]), at(10)),
        ("Killed, late", drive(&[(kill.clone(), 0)]), at(5000)),
        (
            "Overdue",
            drive(&[(kill, 0), (Event::Tick, 5000)]),
            at(9000),
        ),
        ("Confirmed", drive(&[(gone(false), 0)]), at(10)),
    ]
}

/// SUP-06 SUP-07 SUP-11
#[test]
fn transition_table() {
    let mut table = String::new();
    for (state, machine, now) in states() {
        for (name, event) in events() {
            let mut next = machine.clone();
            let effects = next.step(event, now);
            let shown: Vec<String> = effects
                .iter()
                .map(|effect| match effect {
                    Effect::Confirmed(e) => {
                        format!("Confirmed({} {})", e.outcome.as_str(), e.cause.as_str())
                    }
                    Effect::Unconfirmed(e) => format!("Unconfirmed({})", e.cause.as_str()),
                    Effect::WakeAt(t) => format!("WakeAt(+{:?})", t.since(now)),
                    other => format!("{other:?}"),
                })
                .collect();
            let after = format!("{:?}", next.state());
            let after = after
                .split([' ', '{'])
                .next()
                .unwrap_or_default()
                .to_owned();
            writeln!(
                table,
                "{state:20} | {name:16} -> {after:12} {}",
                shown.join(", ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// SUP-07: with a plugin that ignores everything, the steps come at exactly 5 s, +1 s, +1 s, and the answer 5 s later.
#[test]
fn ladder_times_are_as_written() {
    let mut machine = Termination::new();
    assert!(
        machine
            .step(stop(), at(0))
            .contains(&Effect::SendShutdown(Duration::from_secs(5)))
    );
    assert!(machine.step(Event::Tick, at(4999)).is_empty());
    assert!(
        machine
            .step(Event::Tick, at(5000))
            .contains(&Effect::CloseConnection)
    );
    assert!(machine.step(Event::Tick, at(5999)).is_empty());
    assert!(
        machine
            .step(Event::Tick, at(6000))
            .contains(&Effect::Interrupt)
    );
    assert!(machine.step(Event::Tick, at(6999)).is_empty());
    assert!(machine.step(Event::Tick, at(7000)).contains(&Effect::Kill));
    assert!(machine.step(Event::Tick, at(11_999)).is_empty());
    assert!(matches!(
        machine.step(Event::Tick, at(12_000)).as_slice(),
        [Effect::Unconfirmed(_)]
    ));
}

/// SUP-10
#[test]
fn missed_exit_window_is_a_cause_even_when_the_termination_succeeds() {
    let mut machine = Termination::new();
    machine.step(stop(), at(0));
    machine.step(Event::ShutdownAnswered(Ok(())), at(100));
    machine.step(Event::Tick, at(1100));
    machine.step(Event::ProcessExited(Some(ExitStatus::Signal(15))), at(1101));
    let effects = machine.step(gone(false), at(1102));
    let Some(Effect::Confirmed(ending)) = effects.last() else {
        panic!("{effects:?}")
    };
    assert_eq!(ending.outcome, Outcome::Exited);
    assert_eq!(ending.exit_status, Some(ExitStatus::Signal(15)));
    let kinds: Vec<_> = ending.cleanup.iter().map(|cause| cause.kind).collect();
    assert_eq!(kinds, [CleanupCauseKind::LocalTerminationTimeout]);
}

/// SUP-07: an unconfirmed exit that comes after all is `killed`.
#[test]
fn late_exit_turns_unconfirmed_into_killed() {
    let mut machine = Termination::new();
    machine.step(
        Event::Kill {
            cause: Cause::Requested,
        },
        at(0),
    );
    machine.step(Event::Tick, at(5000));
    let effects = machine.step(gone(false), at(60_000));
    assert!(matches!(effects.last(), Some(Effect::Confirmed(e)) if e.outcome == Outcome::Killed));
}

/// SUP-36
#[test]
fn crash_kills_what_is_left_of_the_family_at_once() {
    let mut machine = Termination::new();
    let effects = machine.step(Event::ProcessExited(Some(ExitStatus::Code(3))), at(0));
    assert!(effects.contains(&Effect::Kill));
    let effects = machine.step(gone(false), at(1));
    assert!(
        matches!(effects.last(), Some(Effect::Confirmed(e)) if e.outcome == Outcome::Exited && e.cause == Cause::Crashed)
    );
}

/// SUP-11: want of memory explains an end that nobody asked for, and no other.
#[test]
fn want_of_memory_is_the_cause_unless_somebody_asked() {
    for (events, cause) in [
        (
            vec![Event::ProcessExited(Some(ExitStatus::Signal(9)))],
            Cause::OutOfMemory,
        ),
        (
            vec![Event::Broken {
                cause: Cause::Crashed,
            }],
            Cause::OutOfMemory,
        ),
        (vec![], Cause::OutOfMemory),
        (
            vec![Event::Kill {
                cause: Cause::Requested,
            }],
            Cause::Requested,
        ),
    ] {
        let mut machine = Termination::new();
        for event in events {
            machine.step(event, at(0));
        }
        assert_eq!(machine.step(Event::OutOfMemory, at(1)), []);
        let effects = machine.step(gone(true), at(2));
        assert!(
            matches!(effects.last(), Some(Effect::Confirmed(ending)) if ending.cause == cause),
            "{effects:?}"
        );
    }
}

/// SUP-11: a process that somebody else kills is `killed`, and the cause says who it was not.
#[test]
fn foreign_sigkill_is_external() {
    let mut machine = Termination::new();
    machine.step(Event::ProcessExited(Some(ExitStatus::Signal(9))), at(0));
    let effects = machine.step(gone(false), at(1));
    assert!(
        matches!(effects.last(), Some(Effect::Confirmed(e)) if e.outcome == Outcome::Killed && e.cause == Cause::External)
    );
}

/// SUP-36: output that closes because the process exits is a crash, not a lost connection.
#[test]
fn closed_output_followed_by_the_exit_is_a_crash() {
    let mut machine = Termination::new();
    machine.step(
        Event::Broken {
            cause: Cause::ConnectionLost,
        },
        at(0),
    );
    assert!(
        machine
            .step(Event::ProcessExited(Some(ExitStatus::Code(1))), at(1))
            .contains(&Effect::Kill)
    );
    let effects = machine.step(gone(false), at(2));
    assert!(matches!(effects.last(), Some(Effect::Confirmed(e)) if e.cause == Cause::Crashed));
}

fn any_event() -> impl Strategy<Value = Event> {
    let count = events().len();
    (0..count).prop_map(|index| events().swap_remove(index).1)
}

proptest! {
    /// SUP-11 SUP-33: whatever happens in whatever order, there is one final outcome, "exited" or "killed" needs the family gone,
    /// and no rung of the ladder is climbed twice or backwards.
    #[test]
    fn every_history_has_one_outcome(history in proptest::collection::vec((any_event(), 0u64..2000), 0..60)) {
        let mut machine = Termination::new();
        let mut now = START;
        let (mut finals, mut kills, mut interrupts, mut family_gone) = (0, 0, 0, false);
        for (event, millis) in history {
            now = now.plus(Duration::from_millis(millis));
            family_gone |= matches!(event, Event::FamilyGone { .. });
            for effect in machine.step(event, now) {
                match effect {
                    Effect::Confirmed(ending) => {
                        finals += 1;
                        prop_assert!(family_gone);
                        prop_assert!(ending.outcome != Outcome::TerminationUnconfirmed && ending.evidence.is_some());
                    }
                    Effect::Unconfirmed(ending) => prop_assert!(ending.evidence.is_none() && !family_gone),
                    Effect::Kill => { kills += 1; }
                    Effect::Interrupt => { interrupts += 1; prop_assert!(kills == 0); }
                    _ => {}
                }
            }
        }
        prop_assert!(finals == i32::from(family_gone));
        prop_assert!(kills <= 1 && interrupts <= 1);
    }

    /// SUP-07: once an end has begun, ticks alone lead to SIGKILL within the sum of the windows.
    #[test]
    fn every_stop_reaches_sigkill_in_bounded_time(graceful in 0u64..20_000) {
        let mut machine = Termination::new();
        let mut now = START;
        let mut pending = machine.step(Event::Stop { cause: Cause::Requested, graceful: Some(Duration::from_millis(graceful)) }, now);
        let mut killed_at = None;
        for _ in 0..10 {
            if pending.contains(&Effect::Kill) { killed_at.get_or_insert(now); }
            let Some(Effect::WakeAt(next)) = pending.iter().rev().find(|e| matches!(e, Effect::WakeAt(_))).cloned() else { break };
            now = next;
            pending = machine.step(Event::Tick, now);
        }
        prop_assert_eq!(killed_at, Some(START.plus(Duration::from_millis(graceful + 2000))));
        prop_assert_eq!(machine.state(), State::Overdue);
    }
}
