//! Wake-ups at points of the deciding clock: one timerfd on CLOCK_BOOTTIME for the whole node, with a lazy heap.
//!
//! tokio's own timers stand still while the machine is suspended; these do not (SUP-25). A wake-up is not cancelled: whoever asked for it
//! looks whether it still matters.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use treewarden_model::time::{Clock as _, Timestamp};

use crate::clock::SystemClock;
use crate::{system, task};

type Wake = Box<dyn FnOnce() + Send>;

struct Waiting {
    at: Timestamp,
    order: u64,
    wake: Wake,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

#[derive(Default)]
struct Heap {
    waiting: BinaryHeap<Reverse<Waiting>>,
    order: u64,
}

/// The node's timers. Cheap to clone.
#[derive(Clone)]
pub struct Timers {
    clock: Arc<SystemClock>,
    fd: Arc<AsyncFd<OwnedFd>>,
    heap: Arc<Mutex<Heap>>,
}

impl std::fmt::Debug for Timers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timers")
            .field("waiting", &self.heap().waiting.len())
            .finish()
    }
}

impl Timers {
    /// Starts the timers, inside a tokio runtime; they run as long as it does.
    ///
    /// # Errors
    /// No timerfd could be had.
    pub fn start(clock: Arc<SystemClock>) -> io::Result<Self> {
        let fd = rustix::time::timerfd_create(
            TimerfdClockId::Boottime,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let timers = Self {
            clock,
            fd: Arc::new(system::watched(fd, Interest::READABLE)?),
            heap: Arc::default(),
        };
        let running = timers.clone();
        task::spawn("timers", async move { running.run().await });
        Ok(timers)
    }

    /// Calls `wake` once `at` has come, on a task of the node's runtime; at once if it has. It must be quick and not panic.
    pub fn wake_at(&self, at: Timestamp, wake: impl FnOnce() + Send + 'static) {
        let mut heap = self.heap();
        let first = heap.waiting.peek().is_none_or(|Reverse(next)| at < next.at);
        heap.order += 1;
        let order = heap.order;
        heap.waiting.push(Reverse(Waiting {
            at,
            order,
            wake: Box::new(wake),
        }));
        if first {
            self.arm(at);
        }
    }

    /// Looks at the clock again: after it was shifted.
    pub fn nudge(&self) {
        self.arm(Timestamp(0));
    }

    fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arm(&self, at: Timestamp) {
        // A zero time disarms; one in the past fires at once.
        let nanos = at.0.saturating_sub(self.clock.ahead()).max(1);
        let value = Timespec {
            tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or_default(),
        };
        let spec = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        if let Err(error) =
            rustix::time::timerfd_settime(&*self.fd, TimerfdTimerFlags::ABSTIME, &spec)
        {
            tracing::error!(error = %error, "A timer could not be set");
        }
    }

    async fn run(&self) {
        loop {
            let Ok(mut ready) = self.fd.readable().await else {
                return;
            };
            let mut expirations = [0; 8];
            if rustix::io::read(&*self.fd, &mut expirations).is_err() {
                ready.clear_ready();
            }
            for wake in self.due() {
                wake();
            }
        }
    }

    fn due(&self) -> Vec<Wake> {
        let now = self.clock.now();
        let mut heap = self.heap();
        let mut due = Vec::new();
        while heap
            .waiting
            .peek()
            .is_some_and(|Reverse(next)| next.at <= now)
        {
            due.extend(heap.waiting.pop().map(|Reverse(waiting)| waiting.wake));
        }
        if let Some(Reverse(next)) = heap.waiting.peek() {
            self.arm(next.at);
        }
        due
    }
}
