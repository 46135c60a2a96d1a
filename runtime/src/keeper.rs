//! The node's client of its keeper: asks for processes, passes signals on, hands events to whoever they concern.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Notify, Semaphore, oneshot};
use treewarden_keeper::wire::{
    Event, MAX_REQUESTS_IN_FLIGHT, Request, SpawnRequest, UnascribedProcess,
};
use treewarden_keeper::{
    EnforcedLimits, Evidence, ExitStatus, KeeperOptions, KeeperProcess, Link, Ordinal, ProcessId,
    StartTime,
};

use crate::{system, task};

/// How long a keeper may take to greet.
const GREETING: std::time::Duration = std::time::Duration::from_secs(10);

/// Hears what the keeper says. Calls come from one task, in order, and must be quick.
pub trait KeeperSink: Send + Sync + 'static {
    /// The leader of a launch has exited.
    fn exited(&self, ordinal: Ordinal, status: ExitStatus);
    /// The family of a launch is gone.
    fn gone(&self, ordinal: Ordinal, end: FamilyEnd);
    /// These processes can't be ascribed to a launch; they keep exits from being confirmed.
    fn unascribed(&self, processes: Vec<UnascribedProcess>, more: usize);
    /// The keeper has ended; every launch it kept is lost with it. Nothing more is said.
    fn lost(&self);
}

/// How a family went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyEnd {
    /// What shows that it is gone.
    pub evidence: Evidence,
    /// Whether SIGKILL, the keeper's or anyone's, ended a member.
    pub killed: bool,
    /// Whether the kernel ended a member for want of memory.
    pub out_of_memory: bool,
}

/// A process that waits at its gate.
#[derive(Debug)]
pub struct SpawnedProcess {
    /// Its process number.
    pub pid: ProcessId,
    /// When the kernel started it.
    pub start_time: StartTime,
    /// What holds its limits.
    pub limits: EnforcedLimits,
}

/// Why there is no process.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SpawnError {
    /// The keeper said no.
    #[error("{0}")]
    Refused(String),
    /// The keeper is gone.
    #[error("the keeper is gone")]
    Lost,
}

type Reply = oneshot::Sender<Result<SpawnedProcess, SpawnError>>;

struct Outgoing {
    request: Request,
    descriptors: Vec<OwnedFd>,
}

#[derive(Default)]
struct State {
    outgoing: VecDeque<Outgoing>,
    waiting: HashMap<Ordinal, Reply>,
    closed: bool,
}

struct Shared {
    link: AsyncFd<Link>,
    state: Mutex<State>,
    to_send: Notify,
    closing: Notify,
    in_flight: Semaphore,
    sink: Arc<dyn KeeperSink>,
    pid: ProcessId,
}

/// A running keeper. Cheap to clone; it lives until [`Keeper::close`] or the end of the node.
#[derive(Clone)]
pub struct Keeper {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper")
            .field("pid", &self.shared.pid)
            .finish()
    }
}

impl Keeper {
    /// Starts a keeper and waits for its greeting.
    ///
    /// # Errors
    /// It could not be started, or said why it can't start (another keeper still lives).
    pub async fn start(options: &KeeperOptions, sink: Arc<dyn KeeperSink>) -> io::Result<Self> {
        let (link, process) = treewarden_keeper::start(options)?;
        let link = system::watched(link, Interest::READABLE | Interest::WRITABLE)?;
        let greeting = tokio::time::timeout(GREETING, next_event(&link)).await;
        let Ok(greeting) = greeting else {
            return Err(io::Error::other("the keeper did not greet in time"));
        };
        match greeting? {
            Some((Event::Hello { .. }, _)) => {}
            Some((Event::CannotStart { reason }, _)) => return Err(io::Error::other(reason)),
            other => {
                return Err(io::Error::other(format!(
                    "the keeper did not greet: {other:?}"
                )));
            }
        }
        let shared = Arc::new(Shared {
            link,
            state: Mutex::default(),
            to_send: Notify::new(),
            closing: Notify::new(),
            in_flight: Semaphore::new(MAX_REQUESTS_IN_FLIGHT),
            sink,
            pid: process.pid,
        });
        let keeper = Self { shared };
        let (sender, receiver) = (keeper.clone(), keeper.clone());
        task::spawn("keeper requests", async move { sender.send_all().await });
        task::spawn("keeper events", async move {
            receiver.receive_all(process).await
        });
        Ok(keeper)
    }

    /// The keeper's process number.
    pub fn pid(&self) -> ProcessId {
        self.shared.pid
    }

    /// Asks for a process with these descriptors as stdin, stdout and stderr; it waits at its gate until a byte comes on stdin.
    ///
    /// # Errors
    /// Refused (the text says why), or the keeper is gone. When the caller goes away meanwhile the process, seeing the end of its stdin,
    /// ends at the gate.
    pub async fn spawn(
        &self,
        request: SpawnRequest,
        descriptors: [OwnedFd; 3],
    ) -> Result<SpawnedProcess, SpawnError> {
        let permit = self
            .shared
            .in_flight
            .acquire()
            .await
            .map_err(|_| SpawnError::Lost)?;
        let (reply, answer) = oneshot::channel();
        let ordinal = request.ordinal();
        {
            let mut state = self.state();
            if state.closed {
                return Err(SpawnError::Lost);
            }
            state.waiting.insert(ordinal, reply);
            state.outgoing.push_back(Outgoing {
                request: Request::Spawn(Box::new(request)),
                descriptors: descriptors.into(),
            });
        }
        self.flush();
        let answer = answer.await.unwrap_or(Err(SpawnError::Lost));
        drop(permit);
        answer
    }

    /// SIGTERM and SIGCONT to the family of a launch. One that is gone is left alone.
    pub fn interrupt(&self, ordinal: Ordinal) {
        self.queue(Request::Interrupt { ordinal });
    }

    /// SIGKILL to the family of a launch until it is empty.
    pub fn kill(&self, ordinal: Ordinal) {
        self.queue(Request::Kill { ordinal });
    }

    /// Closes the link: the keeper ends what it still keeps, writes its last words, and ends.
    pub fn close(&self) {
        self.state().closed = true;
        self.shared.closing.notify_waiters();
        self.shared.closing.notify_one();
        rustix::net::shutdown(self.shared.link.get_ref(), rustix::net::Shutdown::Both).ok();
    }

    fn queue(&self, request: Request) {
        let mut state = self.state();
        if !state.closed {
            state.outgoing.push_back(Outgoing {
                request,
                descriptors: Vec::new(),
            });
            drop(state);
            self.flush();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what waits, from the caller's own thread: the usual case costs no task switch.
    fn flush(&self) {
        if !self.send_some() {
            self.shared.to_send.notify_one();
        }
    }

    /// Sends what the socket takes; false when it is full.
    fn send_some(&self) -> bool {
        let mut state = self.state();
        while let Some(next) = state.outgoing.front() {
            let descriptors: Vec<_> = next.descriptors.iter().map(OwnedFd::as_fd).collect();
            match self
                .shared
                .link
                .get_ref()
                .try_send(&next.request, &descriptors)
            {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) => {
                    if let Request::Spawn(request) = &next.request {
                        let ordinal = request.ordinal();
                        if let Some(reply) = state.waiting.remove(&ordinal) {
                            reply.send(Err(SpawnError::Refused(error.to_string()))).ok();
                        }
                    }
                }
            }
            state.outgoing.pop_front();
        }
        true
    }

    async fn send_all(&self) {
        loop {
            tokio::select! {
                () = self.shared.to_send.notified() => {}
                () = self.shared.closing.notified() => return,
            }
            while !self.send_some() {
                let Ok(mut ready) = self.shared.link.ready(Interest::WRITABLE).await else {
                    return;
                };
                ready.clear_ready();
            }
        }
    }

    async fn receive_all(&self, process: KeeperProcess) {
        loop {
            match next_event(&self.shared.link).await {
                Ok(Some((event, _pidfd))) => self.take(event),
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(error = %error, "The keeper's words can't be read");
                    break;
                }
            }
        }
        // The socket closes earlier than its children arrive here: its own end decides.
        if let Ok(ended) = system::watched(process.pidfd, Interest::READABLE) {
            ended.readable().await.map(|_| ()).ok();
        }
        let waiting = {
            let mut state = self.state();
            state.closed = true;
            state.outgoing.clear();
            std::mem::take(&mut state.waiting)
        };
        self.shared.closing.notify_one();
        for (_, reply) in waiting {
            reply.send(Err(SpawnError::Lost)).ok();
        }
        self.shared.sink.lost();
    }

    fn take(&self, event: Event) {
        let sink = &self.shared.sink;
        match event {
            Event::Spawned {
                ordinal,
                pid,
                start_time,
                limits,
            } => {
                if let Some(reply) = self.state().waiting.remove(&ordinal) {
                    let spawned = SpawnedProcess {
                        pid,
                        start_time,
                        limits,
                    };
                    reply.send(Ok(spawned)).ok();
                }
            }
            Event::Refused { ordinal, reason } => match ordinal {
                Some(ordinal) => {
                    if let Some(reply) = self.state().waiting.remove(&ordinal) {
                        reply.send(Err(SpawnError::Refused(reason))).ok();
                    }
                }
                None => tracing::error!(reason, "The keeper refused a request it could not read"),
            },
            Event::Exited { ordinal, status } => sink.exited(ordinal, status),
            Event::Gone {
                ordinal,
                evidence,
                killed,
                out_of_memory,
            } => sink.gone(
                ordinal,
                FamilyEnd {
                    evidence,
                    killed,
                    out_of_memory,
                },
            ),
            Event::Unascribed { processes, more } => sink.unascribed(processes, more),
            Event::Hello { .. } | Event::CannotStart { .. } => {}
        }
    }
}

async fn next_event(link: &AsyncFd<Link>) -> io::Result<Option<(Event, Option<OwnedFd>)>> {
    loop {
        let mut ready = link.readable().await?;
        if let Ok(event) = ready.try_io(|link| link.get_ref().try_recv()) {
            return event;
        }
    }
}
