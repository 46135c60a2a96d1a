use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::entry::{Answer, Desired};
use crate::id::{Instance, LaunchNumber};
use crate::outcome::{Cause, Ending, Evidence, ExitStatus, Outcome, StopResult};
use crate::retry::Dice;

/// Stands for the shells: carries effects out in its own time, and checks what must hold whenever it does.
struct World {
    supervisor: Supervisor,
    offers: BTreeMap<EntryName, Offer>,
    now: Timestamp,
    launches: BTreeMap<EntryName, u64>,
    starting: BTreeSet<EntryName>,
    ready: BTreeSet<EntryName>,
    ending: BTreeSet<EntryName>,
    asked: u64,
    answers: BTreeMap<u64, Answer>,
    log: Vec<String>,
}

fn name(index: usize) -> EntryName {
    EntryName::parse(&format!("e{index:02}")).unwrap()
}

fn service(index: usize) -> ServiceName {
    ServiceName::parse(&format!("s{index:02}")).unwrap()
}

impl World {
    /// Entry `i` provides service `i` and uses the services of the smaller-numbered entries given: no cycles.
    fn new(uses: &[Vec<usize>]) -> Self {
        let mut supervisor = Supervisor::default();
        let mut offers = BTreeMap::new();
        for (index, used) in uses.iter().enumerate() {
            let offer = Offer {
                provides: vec![service(index)],
                uses: used.iter().copied().map(service).collect(),
            };
            supervisor.add(
                name(index),
                offer.clone(),
                Entry::new(Desired::Running, RetryPolicy::default()),
            );
            offers.insert(name(index), offer);
        }
        let mut world = Self {
            supervisor,
            offers,
            now: Timestamp(1),
            launches: BTreeMap::new(),
            starting: BTreeSet::new(),
            ready: BTreeSet::new(),
            ending: BTreeSet::new(),
            asked: 0,
            answers: BTreeMap::new(),
            log: Vec::new(),
        };
        let effects = world.supervisor.look_at_all(world.now);
        world.take(effects);
        world
    }

    fn live(&self, name: &EntryName) -> bool {
        self.starting.contains(name) || self.ready.contains(name) || self.ending.contains(name)
    }

    fn consumers(&self, provider: &EntryName) -> Vec<EntryName> {
        let provided = &self.offers[provider].provides;
        let uses = |offer: &Offer| offer.uses.iter().any(|s| provided.contains(s));
        self.offers
            .iter()
            .filter(|(_, offer)| uses(offer))
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn providers(&self, consumer: &EntryName) -> Vec<EntryName> {
        let used = &self.offers[consumer].uses;
        let serves = |offer: &Offer| offer.provides.iter().any(|s| used.contains(s));
        self.offers
            .iter()
            .filter(|(_, offer)| serves(offer))
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn take(&mut self, effects: Vec<Directed>) {
        for (name, effect) in effects {
            match effect {
                Effect::Launch => {
                    assert!(!self.live(&name), "two launches of {name} at once");
                    for provider in self.providers(&name) {
                        assert!(
                            self.ready.contains(&provider),
                            "{name} started before {provider} served"
                        );
                    }
                    self.log.push(format!("launch {name}"));
                    *self.launches.entry(name.clone()).or_default() += 1;
                    self.starting.insert(name);
                }
                Effect::StopLaunch(_) => {
                    for consumer in self.consumers(&name) {
                        assert!(
                            !self.live(&consumer),
                            "{name} stopped while {consumer} still uses it"
                        );
                    }
                    self.log.push(format!("stop {name}"));
                    self.starting.remove(&name);
                    self.ready.remove(&name);
                    self.ending.insert(name);
                }
                Effect::KillLaunch(_) => {
                    self.starting.remove(&name);
                    self.ready.remove(&name);
                    self.ending.insert(name);
                }
                Effect::Answer(ask, answer) => {
                    assert!(
                        self.answers.insert(ask.0, answer).is_none(),
                        "answered twice"
                    );
                }
                Effect::Removed => {
                    assert!(!self.live(&name));
                }
                Effect::Persist(_) | Effect::WakeAt(_) | Effect::Unblocked(_) => {}
            }
        }
    }

    fn event(&mut self, name: &EntryName, event: Event) {
        let effects = self.supervisor.step(name, event, self.now);
        self.take(effects);
    }

    fn verb(&mut self, name: &EntryName, verb: fn(Ask) -> Event) -> u64 {
        self.asked += 1;
        let ask = self.asked;
        self.event(name, verb(Ask(ask)));
        ask
    }

    fn becomes_ready(&mut self, name: &EntryName) {
        if self.starting.remove(name) {
            self.ready.insert(name.clone());
            self.event(name, Event::Ready);
        }
    }

    fn result(&self, name: &EntryName) -> StopResult {
        StopResult {
            entry: name.clone(),
            instance: Instance::local(Uuid::nil()),
            launch: LaunchNumber::from_stored(self.launches.get(name).copied().unwrap_or_default()),
            ending: Ending {
                outcome: Outcome::Exited,
                cause: Cause::Requested,
                evidence: Some(Evidence::Tree),
                exit_status: Some(ExitStatus::Code(0)),
                duration: Duration::ZERO,
                cleanup: Vec::new(),
            },
        }
    }

    /// The launch ends: because it was stopped, or by itself.
    fn ends(&mut self, name: &EntryName) {
        if !self.live(name) {
            return;
        }
        if self.ready.contains(name) {
            self.ready.remove(name);
            self.ending.insert(name.clone());
            self.event(name, Event::Withdrawn);
        }
        self.starting.remove(name);
        self.ending.remove(name);
        let result = self.result(name);
        self.event(
            name,
            Event::Ended {
                result,
                dice: Dice(0),
            },
        );
    }

    fn tick(&mut self) {
        self.now = self.now.plus(Duration::from_secs(31));
        let names: Vec<EntryName> = self.offers.keys().cloned().collect();
        for name in names {
            self.event(&name, Event::Tick);
        }
    }

    /// Lets everything that is under way come to its end, without further faults.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            if let Some(name) = self.ending.iter().next().cloned() {
                self.ends(&name);
            } else if let Some(name) = self.starting.iter().next().cloned() {
                self.becomes_ready(&name);
            } else {
                return;
            }
        }
        panic!("never settles");
    }
}

/// SUP-03: providers before consumers.
#[test]
fn services_start_before_their_consumers() {
    let mut world = World::new(&[vec![], vec![0], vec![0, 1]]);
    world.settle();
    assert_eq!(world.log, ["launch e00", "launch e01", "launch e02"]);
}

/// SUP-04: consumers stop first, transitively, in reverse order, and come back.
#[test]
fn restart_of_a_provider_stops_consumers_first_and_brings_them_back() {
    let mut world = World::new(&[vec![], vec![0], vec![1]]);
    world.settle();
    world.log.clear();
    let ask = world.verb(&name(0), Event::Restart);
    world.settle();
    assert_eq!(
        world.log,
        [
            "stop e02",
            "stop e01",
            "stop e00",
            "launch e00",
            "launch e01",
            "launch e02"
        ]
    );
    assert!(matches!(
        world.answers.get(&ask),
        Some(Answer::Restarted {
            stop: Some(_),
            started: Ok(())
        })
    ));
}

/// SUP-05: a provider that fails takes its consumers down, and they return with it.
#[test]
fn crash_of_a_provider_stops_its_consumers_until_it_is_back() {
    let mut world = World::new(&[vec![], vec![0]]);
    world.settle();
    world.log.clear();
    world.ends(&name(0));
    world.settle();
    assert_eq!(world.log, ["stop e01"]);
    world.tick();
    world.settle();
    assert_eq!(world.log, ["stop e01", "launch e00", "launch e01"]);
}

/// SUP-34: two stops at once are one stop with one result.
#[test]
fn verbs_on_one_entry_are_coalesced() {
    let mut world = World::new(&[vec![]]);
    world.settle();
    let (first, second) = (
        world.verb(&name(0), Event::Stop),
        world.verb(&name(0), Event::Stop),
    );
    let start = world.verb(&name(0), Event::Start);
    world.settle();
    assert_eq!(world.answers.get(&first), world.answers.get(&second));
    assert_eq!(world.answers.get(&start), Some(&Answer::Running));
    assert_eq!(world.launches[&name(0)], 2);
}

/// SUP-12 SUP-04: an unconfirmed exit blocks its own entry, and only that.
#[test]
fn unconfirmed_exit_blocks_its_entry_but_not_the_stop_of_its_provider() {
    let mut world = World::new(&[vec![], vec![0]]);
    world.settle();
    let provider_stop = world.verb(&name(0), Event::Stop);
    let mut result = world.result(&name(1));
    result.ending.outcome = Outcome::TerminationUnconfirmed;
    result.ending.evidence = None;
    world.ending.remove(&name(1));
    world.event(&name(1), Event::Unconfirmed(result));
    assert_eq!(
        world.supervisor.entry("e01").unwrap().state(),
        State::Blocked
    );
    world.settle();
    assert!(world.answers.contains_key(&provider_stop));
    let refused = world.verb(&name(1), Event::Start);
    assert!(matches!(
        world.answers.get(&refused),
        Some(Answer::Refused(_))
    ));
}

/// SUP-35: while held, nothing starts; released, all does.
#[test]
fn nothing_is_launched_while_held() {
    let mut supervisor = Supervisor::held();
    supervisor.add(
        name(0),
        Offer::default(),
        Entry::new(Desired::Running, RetryPolicy::default()),
    );
    assert!(supervisor.look_at_all(Timestamp(1)).is_empty());
    assert_eq!(
        supervisor.release(Timestamp(2)),
        [(name(0), Effect::Launch)]
    );
}

/// SUP-01: a changed declaration replaces the process; one that moves a service waits for the old provider's end.
#[test]
fn service_moved_between_entries_is_never_provided_twice() {
    let mut world = World::new(&[vec![], vec![]]);
    world.settle();
    let moved = Offer {
        provides: vec![service(0)],
        uses: vec![],
    };
    let none = Offer::default();
    let effects =
        world
            .supervisor
            .redeclare(&name(1), moved, true, RetryPolicy::default(), world.now);
    world.take(effects);
    world.ends(&name(1));
    assert_eq!(
        world.supervisor.entry("e01").unwrap().state(),
        State::Waiting
    );
    let effects =
        world
            .supervisor
            .redeclare(&name(0), none, true, RetryPolicy::default(), world.now);
    world.take(effects);
    world.ends(&name(0));
    assert!(world.starting.contains(&name(1)) && world.starting.contains(&name(0)));
}

/// SUP-03 SUP-01: a declaration that uses more than the old one waits for it: not even a launch is begun before.
#[test]
fn replaced_entry_waits_for_what_its_new_declaration_uses() {
    let mut world = World::new(&[vec![], vec![]]);
    world.settle();
    world.ends(&name(0)); // backing off: its service is not there
    world.log.clear();
    let more = Offer {
        provides: vec![service(1)],
        uses: vec![service(0)],
    };
    world.offers.insert(name(1), more.clone());
    let effects =
        world
            .supervisor
            .redeclare(&name(1), more, true, RetryPolicy::default(), world.now);
    world.take(effects);
    world.ends(&name(1));
    assert_eq!(
        world.supervisor.entry("e01").unwrap().state(),
        State::Waiting
    );
    world.tick();
    world.settle();
    assert_eq!(world.log, ["stop e01", "launch e00", "launch e01"]);
}

fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    (1usize..7).prop_flat_map(|count| {
        (0..count)
            .map(|index| {
                proptest::collection::btree_set(0..index.max(1), 0..=index.min(3)).prop_map(
                    move |set| {
                        set.into_iter()
                            .filter(|used| *used < index)
                            .collect::<Vec<_>>()
                    },
                )
            })
            .collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    /// SUP-02 SUP-03 SUP-04 SUP-34: under any order of verbs, crashes and time, no entry has two launches, no consumer starts before
    /// or outlives an orderly stop of its provider, every caller is answered exactly once, and what should run runs in the end.
    #[test]
    fn any_history_keeps_the_order_and_answers_everybody(
        uses in graphs(), steps in proptest::collection::vec((0u8..9, any::<prop::sample::Index>()), 0..80),
    ) {
        let mut world = World::new(&uses);
        let mut asks = Vec::new();
        for (what, which) in steps {
            let entry = name(which.index(uses.len()));
            match what {
                0 => asks.push(world.verb(&entry, Event::Start)),
                1 => asks.push(world.verb(&entry, Event::Stop)),
                2 => asks.push(world.verb(&entry, Event::Restart)),
                3 => asks.push(world.verb(&entry, Event::Kill)),
                4 => asks.push(world.verb(&entry, Event::Reset)),
                5 | 6 => world.becomes_ready(&entry),
                7 => world.ends(&entry),
                _ => world.tick(),
            }
        }
        for index in 0..uses.len() {
            asks.push(world.verb(&name(index), Event::Reset));
            asks.push(world.verb(&name(index), Event::Start));
        }
        for _ in 0..20 {
            world.settle();
            world.tick();
        }
        for index in 0..uses.len() {
            let state = world.supervisor.entry(name(index).as_str()).unwrap().state();
            let running = matches!(state, State::Running { .. });
            prop_assert!(running, "{} is {:?}", name(index), state);
        }
        for ask in asks {
            prop_assert!(world.answers.contains_key(&ask), "{} was never answered", ask);
        }
        let shutdown: Vec<(EntryName, Ask)> = (0..uses.len()).map(|i| (name(i), Ask(1_000_000 + i as u64))).collect();
        let effects = world.supervisor.shut_down(shutdown, world.now);
        world.take(effects);
        world.settle();
        prop_assert!((0..uses.len()).all(|i| world.answers.contains_key(&(1_000_000 + i as u64))));
        prop_assert!(world.supervisor.entries().all(|(_, entry)| !entry.live()));
        let _ = Cause::Requested;
    }
}
