//! Threads for what may take its time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// An idle thread ends after this time, so that an idle plugin is small.
const IDLE: Duration = Duration::from_secs(5);

/// A piece of work. It must not unwind.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A pool that grows to a bound with the work that is open, and shrinks to nothing.
///
/// This is the only part that needs threads: a single-threaded target runs a [`Job`] where it is submitted.
#[derive(Clone)]
pub(crate) struct Workers(Arc<Shared>);

struct Shared {
    threads_bound: usize,
    queue_bound: usize,
    state: Mutex<State>,
    submitted: Condvar,
    finished: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Submitted and not finished.
    open: usize,
}

/// Neither a thread nor a place in the queue is free.
#[derive(Debug)]
pub(crate) struct Full;

impl Workers {
    pub(crate) fn new(threads_bound: usize, queue_bound: usize) -> Self {
        Self(Arc::new(Shared {
            threads_bound: threads_bound.max(1),
            queue_bound,
            state: Mutex::default(),
            submitted: Condvar::new(),
            finished: Condvar::new(),
        }))
    }

    pub(crate) fn submit(&self, job: Job) -> Result<(), Full> {
        let mut state = self.0.lock();
        if state.queue.len() >= self.0.queue_bound {
            return Err(Full);
        }
        let wanted = state.queue.len() >= state.idle && state.threads < self.0.threads_bound;
        if wanted && !self.spawn(&mut state) && state.threads == 0 {
            return Err(Full);
        }
        state.queue.push_back(job);
        state.open += 1;
        drop(state);
        self.0.submitted.notify_one();
        Ok(())
    }

    /// Waits until nothing is open, at most for a time; answers whether that was reached.
    pub(crate) fn wait_until_quiet(&self, at_most: Duration) -> bool {
        let state = self.0.lock();
        let waited = self
            .0
            .finished
            .wait_timeout_while(state, at_most, |state| state.open > 0);
        let (state, _timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.open == 0
    }

    fn spawn(&self, state: &mut State) -> bool {
        let shared = Arc::clone(&self.0);
        let spawned = thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || shared.work());
        state.threads += usize::from(spawned.is_ok());
        spawned.is_ok()
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                job();
                state = self.lock();
                state.open -= 1;
                if state.open == 0 {
                    self.finished.notify_all();
                }
                continue;
            }
            state.idle += 1;
            let waited = self
                .submitted
                .wait_timeout_while(state, IDLE, |state| state.queue.is_empty());
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::Workers;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn slow_jobs_do_not_block_others_up_to_the_bound_and_the_queue_is_bounded() {
        let workers = Workers::new(2, 1);
        let (started, starts) = channel();
        let (release, released) = std::sync::mpsc::sync_channel::<()>(0);
        let released = std::sync::Arc::new(std::sync::Mutex::new(released));
        for _ in 0..2 {
            let (started, released) = (started.clone(), released.clone());
            workers
                .submit(Box::new(move || {
                    started.send(()).unwrap();
                    released.lock().unwrap().recv().unwrap();
                }))
                .unwrap();
            starts
                .recv_timeout(LONG)
                .expect("each slow job has a thread of its own");
        }
        workers
            .submit(Box::new(move || started.send(()).unwrap()))
            .unwrap();
        assert!(
            workers.submit(Box::new(|| ())).is_err(),
            "the queue is full"
        );
        assert!(!workers.wait_until_quiet(Duration::from_millis(1)));
        release.send(()).unwrap();
        starts
            .recv_timeout(LONG)
            .expect("the queued job runs when a thread is free");
        release.send(()).unwrap();
        assert!(workers.wait_until_quiet(LONG));
    }
}
