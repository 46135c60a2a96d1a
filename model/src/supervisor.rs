//! All entries of a node together: who may start, and who must stop first (SUP-02 to SUP-05).
//!
//! Each entry's machine sees the others only as [`Surroundings`], computed here from what the *processes* provide and use, not from
//! what is declared now: a process launched by an older declaration still counts by that one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::entry::{Ask, Effect, Entry, Event, State, Surroundings};
use crate::id::LaunchNumber;
use crate::name::{EntryName, ServiceName};
use crate::outcome::StopResult;
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

/// What an entry provides and uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Offer {
    /// Services it provides.
    pub provides: Vec<ServiceName>,
    /// Services it uses.
    pub uses: Vec<ServiceName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Member {
    entry: Entry,
    declared: Offer,
    /// Of the launch that lives, as it was declared when it was launched.
    running: Option<Offer>,
}

impl Member {
    fn offers(&self) -> impl Iterator<Item = &Offer> {
        std::iter::once(&self.declared).chain(&self.running)
    }

    /// Whether a process of it may be using or providing things. One whose exit can't be confirmed holds up nobody but itself (SUP-04).
    fn holds(&self) -> Option<&Offer> {
        self.running
            .as_ref()
            .filter(|_| self.entry.live() && self.entry.state() != State::Blocked)
    }
}

/// Who has to do with a service, by declaration or by a running process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Parties {
    providers: BTreeSet<EntryName>,
    users: BTreeSet<EntryName>,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Supervisor {
    members: BTreeMap<EntryName, Member>,
    services: BTreeMap<ServiceName, Parties>,
    held: bool,
}

/// An effect and the entry it is for.
pub type Directed = (EntryName, Effect);

impl Supervisor {
    /// No entries; nothing is launched until [`Self::release`].
    pub fn held() -> Self {
        Self {
            held: true,
            ..Self::default()
        }
    }

    /// An entry's machine.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.members.get(name).map(|member| &member.entry)
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = (&EntryName, &Entry)> {
        self.members
            .iter()
            .map(|(name, member)| (name, &member.entry))
    }

    /// Notes what an entry's launch that is about to end met; `None`: nothing.
    pub fn note_trouble(&mut self, name: &str, trouble: Option<String>) {
        if let Some(member) = self.members.get_mut(name) {
            member.entry.note_trouble(trouble);
        }
    }

    /// Notes how an entry's launch of an earlier start of the node ended.
    pub fn note_last_stop(&mut self, name: &str, result: StopResult) {
        if let Some(member) = self.members.get_mut(name) {
            member.entry.note_last_stop(result);
        }
    }

    /// A launch of an entry, begun by an earlier start of the node, may still live.
    pub fn inherit(&mut self, name: &str, launch: LaunchNumber) {
        if let Some(member) = self.members.get_mut(name) {
            member.entry.inherit(launch);
        }
    }

    /// Adds an entry. It is not looked at before [`Self::look_at_all`].
    pub fn add(&mut self, name: EntryName, offer: Offer, entry: Entry) {
        self.enlist(&name, &offer);
        self.members.insert(
            name,
            Member {
                entry,
                declared: offer,
                running: None,
            },
        );
    }

    /// Changes what an entry is declared to be. Processes are replaced one by one as their machines allow.
    pub fn redeclare(
        &mut self,
        name: &EntryName,
        offer: Offer,
        replace: bool,
        retry: RetryPolicy,
        now: Timestamp,
    ) -> Vec<Directed> {
        let Some(member) = self.members.get_mut(name) else {
            return Vec::new();
        };
        member.declared = offer;
        self.reindex(name);
        self.step(name, Event::Redeclared { replace, retry }, now)
    }

    /// Nothing is launched from now on, whatever the entry (SUP-35).
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Launches are allowed again.
    pub fn release(&mut self, now: Timestamp) -> Vec<Directed> {
        self.held = false;
        self.look_at_all(now)
    }

    /// Lets every entry look around: after entries were added.
    pub fn look_at_all(&mut self, now: Timestamp) -> Vec<Directed> {
        let names: Vec<EntryName> = self.members.keys().cloned().collect();
        names
            .iter()
            .flat_map(|name| self.step(name, Event::Look, now))
            .collect()
    }

    /// Everything stops, consumers first; each ask is answered when its entry has stopped.
    pub fn shut_down(
        &mut self,
        asks: impl IntoIterator<Item = (EntryName, Ask)>,
        now: Timestamp,
    ) -> Vec<Directed> {
        asks.into_iter()
            .flat_map(|(name, ask)| self.step(&name, Event::Shutdown(ask), now))
            .collect()
    }

    /// Takes an event of one entry, and lets everybody it concerns look around until nothing changes any more.
    pub fn step(&mut self, name: &EntryName, event: Event, now: Timestamp) -> Vec<Directed> {
        let mut out = Vec::new();
        let mut queue = VecDeque::from([(name.clone(), event)]);
        while let Some((name, event)) = queue.pop_front() {
            let around = self.surroundings(&name);
            let Some(member) = self.members.get_mut(&name) else {
                continue;
            };
            let before = (member.entry.state(), member.entry.live());
            let ran_as = member.running.clone();
            let effects = member.entry.step(event, &around, now);
            if effects.contains(&Effect::Launch) {
                member.running = Some(member.declared.clone());
            } else if !member.entry.live() {
                member.running = None;
            }
            let changed = before != (member.entry.state(), member.entry.live())
                || effects.contains(&Effect::Launch);
            let removed = effects.contains(&Effect::Removed);
            if changed {
                // Those its last process had to do with are concerned by its end too.
                let concerned = self.concerned(&name, ran_as.as_ref());
                self.reindex(&name);
                // It looks around itself too: it may wait for consumers that are idle already.
                queue.extend(
                    concerned
                        .into_iter()
                        .chain([name.clone()])
                        .map(|other| (other, Event::Look)),
                );
            }
            out.extend(effects.into_iter().map(|effect| (name.clone(), effect)));
            if removed {
                self.delist(&name);
                self.members.remove(&name);
            }
        }
        out
    }

    fn surroundings(&self, name: &EntryName) -> Surroundings {
        let Some(member) = self.members.get(name) else {
            return Surroundings::default();
        };
        let holders = |parties: &BTreeSet<EntryName>, test: &dyn Fn(&Member) -> bool| {
            parties
                .iter()
                .filter(|other| *other != name)
                .any(|other| self.members.get(other).is_some_and(test))
        };
        let served = |service: &ServiceName| {
            self.services.get(service).is_some_and(|parties| {
                holders(&parties.providers, &|other| {
                    other.entry.serving()
                        && other
                            .running
                            .as_ref()
                            .is_some_and(|offer| offer.provides.contains(service))
                })
            })
        };
        let taken = |service: &ServiceName| {
            self.services.get(service).is_some_and(|parties| {
                holders(&parties.providers, &|other| {
                    other
                        .running
                        .as_ref()
                        .is_some_and(|offer| offer.provides.contains(service))
                })
            })
        };
        let used = |service: &ServiceName| {
            self.services.get(service).is_some_and(|parties| {
                holders(&parties.users, &|other| {
                    other
                        .holds()
                        .is_some_and(|offer| offer.uses.contains(service))
                })
            })
        };
        let unserved = |offer: &Offer| -> Vec<ServiceName> {
            offer
                .uses
                .iter()
                .filter(|service| !served(service))
                .cloned()
                .collect()
        };
        let lacking = unserved(&member.declared);
        Surroundings {
            missing: member
                .running
                .as_ref()
                .map_or_else(|| lacking.clone(), unserved),
            lacking,
            taken: member
                .declared
                .provides
                .iter()
                .filter(|service| taken(service))
                .cloned()
                .collect(),
            consumers_idle: !member
                .running
                .iter()
                .flat_map(|offer| &offer.provides)
                .any(used),
            held: self.held,
        }
    }

    /// Everybody who provides or uses something that `name` provides or uses, or its last process did.
    fn concerned(&self, name: &EntryName, ran_as: Option<&Offer>) -> BTreeSet<EntryName> {
        let Some(member) = self.members.get(name) else {
            return BTreeSet::new();
        };
        member
            .offers()
            .chain(ran_as)
            .flat_map(|offer| offer.provides.iter().chain(&offer.uses))
            .filter_map(|service| self.services.get(service))
            .flat_map(|parties| parties.providers.iter().chain(&parties.users))
            .filter(|other| *other != name)
            .cloned()
            .collect()
    }

    fn enlist(&mut self, name: &EntryName, offer: &Offer) {
        for service in &offer.provides {
            self.services
                .entry(service.clone())
                .or_default()
                .providers
                .insert(name.clone());
        }
        for service in &offer.uses {
            self.services
                .entry(service.clone())
                .or_default()
                .users
                .insert(name.clone());
        }
    }

    fn delist(&mut self, name: &EntryName) {
        self.services.retain(|_, parties| {
            parties.providers.remove(name);
            parties.users.remove(name);
            !(parties.providers.is_empty() && parties.users.is_empty())
        });
    }

    /// Most changes leave the services as they are; the index is touched only when a process by another declaration came or went.
    fn reindex(&mut self, name: &EntryName) {
        let Some(member) = self.members.get(name) else {
            return;
        };
        let offers: Vec<Offer> = member.offers().cloned().collect();
        let listed = |offer: &Offer, services: &BTreeMap<ServiceName, Parties>| {
            offer
                .provides
                .iter()
                .all(|s| services.get(s).is_some_and(|p| p.providers.contains(name)))
                && offer
                    .uses
                    .iter()
                    .all(|s| services.get(s).is_some_and(|p| p.users.contains(name)))
        };
        if !offers.iter().all(|offer| listed(offer, &self.services)) {
            self.delist(name);
            for offer in &offers {
                self.enlist(name, offer);
            }
        }
    }
}

#[cfg(test)]
mod tests;
