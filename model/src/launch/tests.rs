use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn events() -> Vec<(&'static str, Event)> {
    vec![
        ("spawned", Event::Spawned),
        ("refused", Event::SpawnRefused("no".to_owned())),
        ("recorded", Event::Recorded),
        ("record failed", Event::RecordFailed("disk".to_owned())),
        ("initialized", Event::Initialized),
        (
            "initialize failed",
            Event::InitializeFailed("lacks ledger".to_owned()),
        ),
        (
            "stop",
            Event::Stop {
                cause: Cause::Requested,
                graceful: Duration::from_secs(5),
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
            "broken",
            Event::Broken {
                reason: "bad line".to_owned(),
                cause: Cause::Crashed,
            },
        ),
        ("exited", Event::ProcessExited(Some(ExitStatus::Code(1)))),
        ("out of memory", Event::OutOfMemory),
        (
            "gone",
            Event::FamilyGone {
                evidence: Evidence::Tree,
                killed: false,
            },
        ),
        ("tick", Event::Tick),
    ]
}

fn drive(steps: &[Event]) -> Launch {
    let (mut launch, _) = Launch::begin();
    for step in steps {
        launch.step(step.clone(), Timestamp(0));
    }
    launch
}

/// SUP-36 and the walk "start an entry": every phase with every event.
#[test]
fn transition_table() {
    let running = [Event::Spawned, Event::Recorded, Event::Initialized];
    let phases = [
        ("Spawning", drive(&[])),
        (
            "Spawning, stop asked",
            drive(&[Event::Stop {
                cause: Cause::Requested,
                graceful: Duration::ZERO,
            }]),
        ),
        ("Recording", drive(&running[..1])),
        ("Initializing", drive(&running[..2])),
        ("Running", drive(&running)),
        ("Ended", drive(&[Event::SpawnRefused("no".to_owned())])),
    ];
    let mut table = String::new();
    for (phase, launch) in phases {
        for (name, event) in events() {
            let mut next = launch.clone();
            let effects: Vec<String> = next
                .step(event, Timestamp(0))
                .iter()
                .map(|effect| match effect {
                    Effect::Ladder(rung) => format!("{rung:?}")
                        .split(['(', ' '])
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                    other => format!("{other:?}"),
                })
                .collect();
            let after = format!("{:?}", next.phase());
            let after = after.split(' ').next().unwrap_or_default().to_owned();
            writeln!(
                table,
                "{phase:20} | {name:17} -> {after:12} {}",
                effects.join(", ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

fn any_event() -> impl Strategy<Value = Event> {
    let count = events().len();
    (0..count).prop_map(|index| events().swap_remove(index).1)
}

proptest! {
    /// SUP-11 SUP-28: whatever else is said, a process that never was is never waited for.
    #[test]
    fn refused_spawn_never_ran(before in proptest::collection::vec(any_event(), 0..10), after in proptest::collection::vec(any_event(), 0..10)) {
        let (mut launch, _) = Launch::begin();
        let first = |event: &Event| !matches!(event, Event::Spawned | Event::SpawnRefused(_));
        for event in before.into_iter().filter(first) {
            prop_assert!(launch.step(event, Timestamp(0)).is_empty());
        }
        let refused = launch.step(Event::SpawnRefused("no".to_owned()), Timestamp(0));
        prop_assert_eq!(refused, vec![Effect::NeverRan("no".to_owned())]);
        for event in after {
            prop_assert!(launch.step(event, Timestamp(0)).is_empty());
        }
        prop_assert_eq!(launch.phase(), Phase::Ended);
    }

    /// SUP-36 SUP-37: in whatever order the three words come, the launch is recorded as ended, with its status.
    #[test]
    fn end_that_overtakes_the_spawn_is_not_lost(order in Just([0, 1, 2]).prop_shuffle(), stop in any::<bool>()) {
        let words = [
            Event::Spawned,
            Event::ProcessExited(Some(ExitStatus::Code(126))),
            Event::FamilyGone { evidence: Evidence::Tree, killed: false },
        ];
        let (mut launch, _) = Launch::begin();
        if stop {
            launch.step(Event::Stop { cause: Cause::Requested, graceful: Duration::ZERO }, Timestamp(0));
        }
        let mut effects = Vec::new();
        for index in order {
            effects.extend(launch.step(words[index].clone(), Timestamp(0)));
        }
        prop_assert_eq!(launch.phase(), Phase::Ended);
        let found = effects.iter().find_map(|effect| match effect {
            Effect::Ladder(termination::Effect::Confirmed(ending)) => Some(ending.clone()),
            _ => None,
        });
        let status = found.expect("it is confirmed").exit_status;
        // Only news that came before the exit itself may lack the status.
        let place = |word: usize| order.iter().position(|told| *told == word);
        let told_too_late = place(1) > place(2) && place(1) > place(0);
        prop_assert!(status == Some(ExitStatus::Code(126)) || told_too_late);
        prop_assert!(!effects.contains(&Effect::OpenGate));
    }

    /// SUP-13 SUP-17: the gate opens only after the launch was recorded, and never for one that is being stopped.
    #[test]
    fn gate_opens_only_for_a_recorded_launch_nobody_stopped(history in proptest::collection::vec(any_event(), 0..30)) {
        let (mut launch, _) = Launch::begin();
        let (mut recorded, mut stopped, mut announced, mut withdrawn) = (false, false, 0, 0);
        for event in history {
            recorded |= event == Event::Recorded && launch.phase() == Phase::Recording;
            stopped |= matches!(event, Event::Stop { .. } | Event::Kill { .. });
            for effect in launch.step(event, Timestamp(0)) {
                match effect {
                    Effect::OpenGate => prop_assert!(recorded && !stopped),
                    Effect::Ready => announced += 1,
                    Effect::Withdraw => withdrawn += 1,
                    _ => {}
                }
            }
            prop_assert!(announced <= 1 && withdrawn <= announced);
            prop_assert!((launch.phase() == Phase::Running) == (announced == 1 && withdrawn == 0));
        }
    }
}
