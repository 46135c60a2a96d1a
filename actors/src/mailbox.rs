//! A mailbox that outlives its actor.
//!
//! ractor's own mailboxes are unbounded, can't be counted, and die with their actor. Items are kept here instead, and the actor's own
//! messages only say "look": an actor that is killed loses nothing, its replacement goes on with the next item. An item is taken and
//! carried out without an await between, so none is ever done half.
//!
//! The bound is the posters': effects are bounded by what a machine can say, events by the launches, and verbs by a permit
//! ([`crate::limits::WAITING_PER_ENTRY`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ractor::ActorRef;

/// The only message of actors that have such a mailbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look;

/// See the module.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    items: Mutex<VecDeque<T>>,
    actor: Mutex<Option<ActorRef<Look>>>,
    told: AtomicBool,
    handled: AtomicU64,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { items: Mutex::default(), actor: Mutex::default(), told: AtomicBool::new(false), handled: AtomicU64::new(0) }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Mailbox<T> {
    /// Adds an item and tells the actor, if there is one.
    pub(crate) fn post(&self, item: T) {
        lock(&self.items).push_back(item);
        self.tell();
    }

    /// Tells the actor to look.
    pub(crate) fn tell(&self) {
        if !self.told.swap(true, Ordering::SeqCst)
            && let Some(actor) = &*lock(&self.actor)
        {
            actor.cast(Look).ok();
        }
    }

    /// This actor looks from now on; it is told at once.
    pub(crate) fn attach(&self, actor: ActorRef<Look>) {
        *lock(&self.actor) = Some(actor);
        self.told.store(false, Ordering::SeqCst);
        self.tell();
    }

    /// The actor has begun to look: what is posted from now on tells it again.
    pub(crate) fn begin(&self) {
        self.told.store(false, Ordering::SeqCst);
    }

    pub(crate) fn take(&self) -> Option<T> {
        let item = lock(&self.items).pop_front();
        if item.is_some() {
            self.handled.fetch_add(1, Ordering::Relaxed);
        }
        item
    }

    pub(crate) fn queued(&self) -> u64 {
        lock(&self.items).len() as u64
    }

    pub(crate) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// The actor that looks, if it lives.
    pub(crate) fn actor(&self) -> Option<ActorRef<Look>> {
        lock(&self.actor).clone().filter(|actor| {
            !matches!(actor.get_status(), ractor::ActorStatus::Stopped | ractor::ActorStatus::Stopping)
        })
    }
}
