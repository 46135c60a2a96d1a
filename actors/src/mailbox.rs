//! A mailbox that outlives its actor.
//!
//! ractor's own mailboxes are unbounded, can't be counted, and die with their actor. Items are kept here instead, and the actor's own
//! messages only say "look": an actor that is killed loses nothing, its replacement goes on with the next item. An item is carried out
//! without an await, so a kill never leaves one half done; a panic may, and then the replacement carries it out again, since it is only
//! taken off when it is done. Carrying out is safe to repeat; an item that panics [`TRIES`] times is given up, and says so.
//!
//! The bound is the posters': effects are bounded by what a machine can say, events by the launches, and verbs by a permit
//! ([`crate::limits::WAITING_PER_ENTRY`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ractor::{ActorId, ActorRef, ActorStatus};

/// The only message of actors that have such a mailbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look;

/// How often an item is tried before it is given up.
const TRIES: u32 = 3;

/// An item to carry out.
pub(crate) enum Taken<T> {
    /// Carry it out, then say [`Mailbox::done`].
    Item(T),
    /// It panicked too often; do what is left to do about that, then say [`Mailbox::done`].
    GivenUp(T),
}

#[derive(Debug)]
struct Items<T> {
    waiting: VecDeque<T>,
    /// Being carried out, and how often it was begun.
    current: Option<(T, u32)>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    items: Mutex<Items<T>>,
    actor: Mutex<Option<ActorRef<Look>>>,
    told: AtomicBool,
    handled: AtomicU64,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self {
            items: Mutex::new(Items {
                waiting: VecDeque::new(),
                current: None,
            }),
            actor: Mutex::default(),
            told: AtomicBool::new(false),
            handled: AtomicU64::new(0),
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Mailbox<T> {
    /// Adds an item and tells the actor, if there is one.
    pub(crate) fn post(&self, item: T) {
        lock(&self.items).waiting.push_back(item);
        self.tell();
    }

    /// Puts items before all that wait, in their order: what follows from the item that is being carried out.
    pub(crate) fn next(&self, items: impl DoubleEndedIterator<Item = T>) {
        let mut present = lock(&self.items);
        for item in items.rev() {
            present.waiting.push_front(item);
        }
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

    /// The next item: one that a panic left undone before any other.
    pub(crate) fn take(&self) -> Option<Taken<T>>
    where
        T: Clone,
    {
        let mut items = lock(&self.items);
        let (item, begun) = match items.current.take() {
            Some((item, begun)) => (item, begun + 1),
            None => (items.waiting.pop_front()?, 1),
        };
        items.current = Some((item.clone(), begun));
        Some(if begun > TRIES {
            Taken::GivenUp(item)
        } else {
            Taken::Item(item)
        })
    }

    /// The item that was taken is carried out.
    pub(crate) fn done(&self) {
        let mut items = lock(&self.items);
        items.current = None;
        if items.waiting.is_empty() {
            // An idle actor holds no room for items.
            items.waiting = VecDeque::new();
        }
        drop(items);
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn queued(&self) -> u64 {
        let items = lock(&self.items);
        items.waiting.len() as u64 + u64::from(items.current.is_some())
    }

    pub(crate) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }

    /// Whether an actor looks, as a child of `supervisor`. One that a dead supervisor left dying is waited for first: two actors must
    /// never work on one mailbox, or items would be carried out out of order.
    pub(crate) async fn is_attended_by(&self, supervisor: ActorId) -> bool {
        let Some(actor) = lock(&self.actor).clone() else {
            return false;
        };
        if matches!(
            actor.get_status(),
            ActorStatus::Stopped | ActorStatus::Stopping
        ) {
            return false;
        }
        if actor
            .try_get_supervisor()
            .is_some_and(|present| present.get_id() == supervisor)
        {
            return true;
        }
        actor.kill_and_wait(None).await.ok();
        false
    }
}
