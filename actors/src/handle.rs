//! What the edge and the command line hold of a running node.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use treewarden_model::entry::{Answer, Ask, Event, Refusal};
use treewarden_model::outcome::StopResult;
use treewarden_model::status::EntryStatus;
use treewarden_model::time::Clock as _;
use treewarden_runtime::task;
use treewarden_storage::{Operations, StoreHealth, TokenHash};

use crate::answers::{
    CallResult, EntryError, LogLine, NodeInfo, Principal, Readiness, ReloadError, ReloadReport,
    Restarted, Started,
};
use crate::cell::EntryCell;
use crate::hub::{EntriesItem, Hub, Loaded, Waiter};
use crate::limits::{LOG_LINES_KEPT, START_ANSWER};
use crate::mailbox::lock;
use crate::view::ActorView;

/// A running node. Cheap to clone. A caller that goes away, dropping a future of these, changes nothing (SUP-34).
#[derive(Debug, Clone)]
pub struct NodeHandle {
    hub: Arc<Hub>,
}

impl NodeHandle {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }

    #[cfg(feature = "faults")]
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// All entries, by name.
    pub fn list(&self) -> Vec<EntryStatus> {
        self.hub
            .cells()
            .iter()
            .filter_map(|cell| self.hub.status(cell))
            .collect()
    }

    /// One entry.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn show(&self, name: &str) -> Result<EntryStatus, EntryError> {
        self.status(&self.cell(name)?)
    }

    /// Starts an entry, and answers when it serves or after 10 seconds; implies `reset` of a failed one.
    ///
    /// # Errors
    /// See [`EntryError`].
    pub async fn start(&self, name: &str) -> Result<Started, EntryError> {
        let cell = self.cell(name)?;
        self.store_takes_launches()?;
        let mut waiter = self.ask(&cell, Event::Start)?;
        match tokio::time::timeout(START_ANSWER, waiter.answer()).await {
            Ok(answer) => {
                self.judge(&cell, answer)?;
                Ok(Started::Running(Box::new(self.status(&cell)?)))
            }
            Err(_) => Ok(Started::Pending(Box::new(self.status(&cell)?))),
        }
    }

    /// Stops an entry, consumers first. `None`: nothing ran. An unconfirmed end is an `Ok` with that outcome.
    ///
    /// # Errors
    /// See [`EntryError`].
    pub async fn stop(&self, name: &str) -> Result<Option<StopResult>, EntryError> {
        self.end(name, Event::Stop).await
    }

    /// Stops an entry without grace, also one that is being stopped.
    ///
    /// # Errors
    /// See [`EntryError`].
    pub async fn kill(&self, name: &str) -> Result<Option<StopResult>, EntryError> {
        self.end(name, Event::Kill).await
    }

    async fn end(
        &self,
        name: &str,
        verb: fn(Ask) -> Event,
    ) -> Result<Option<StopResult>, EntryError> {
        let cell = self.cell(name)?;
        let answer = self.ask(&cell, verb)?.answer().await;
        match self.judge(&cell, answer)? {
            Answer::Stopped(result) => Ok(result.map(|result| *result)),
            _ => Ok(None),
        }
    }

    /// Stops and starts an entry; answers after the new launch serves or has failed, or says after 10 seconds more what it waits for.
    ///
    /// # Errors
    /// See [`EntryError`].
    pub async fn restart(&self, name: &str) -> Result<Restarted, EntryError> {
        let cell = self.cell(name)?;
        self.store_takes_launches()?;
        let before = cell.launch().map(|launch| launch.tag.launch);
        let mut waiter = self.ask(&cell, Event::Restart)?;
        loop {
            match tokio::time::timeout(START_ANSWER, waiter.answer()).await {
                Ok(answer) => {
                    return match self.judge(&cell, answer)? {
                        Answer::Restarted { stop, started } => Ok(Restarted {
                            stop: stop.map(|stop| *stop),
                            started,
                        }),
                        _ => Ok(Restarted {
                            stop: None,
                            started: Ok(()),
                        }),
                    };
                }
                Err(_)
                    if before.is_some()
                        && cell.launch().map(|launch| launch.tag.launch) == before => {}
                Err(_) => {
                    let status = self.status(&cell)?;
                    let stop = status.last_stop.filter(|stop| Some(stop.launch) == before);
                    return Ok(Restarted {
                        stop,
                        started: Err(format!("it does not serve yet: {}", status.reason)),
                    });
                }
            }
        }
    }

    /// Forgets an entry's failures.
    ///
    /// # Errors
    /// See [`EntryError`].
    pub async fn reset(&self, name: &str) -> Result<EntryStatus, EntryError> {
        let cell = self.cell(name)?;
        let answer = self.ask(&cell, Event::Reset)?.answer().await;
        self.judge(&cell, answer)?;
        self.status(&cell)
    }

    /// Calls a service of an entry. `params` and the result are JSON texts. Dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`crate::answers::CallError`]. The node never repeats a call.
    pub async fn call(
        &self,
        name: &str,
        service: &str,
        method: &str,
        params: Option<&RawValue>,
        timeout: Option<Duration>,
    ) -> CallResult {
        self.hub.call(name, service, method, params, timeout).await
    }

    /// The last `tail` lines of an entry's log, oldest first; at most 500 are kept.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn logs(&self, name: &str, tail: usize) -> Result<Vec<LogLine>, EntryError> {
        let cell = self.cell(name)?;
        let lines = lock(&cell.log).tail(tail.min(LOG_LINES_KEPT));
        Ok(lines)
    }

    /// Reads the configuration file again and makes the running set follow it. A caller that goes away does not stop it.
    ///
    /// # Errors
    /// The file is wrong: nothing was changed.
    pub async fn reload(&self) -> Result<ReloadReport, ReloadError> {
        let (reply, answer) = oneshot::channel();
        let hub = self.hub.clone();
        // In a task of its own: reading may take long, and no actor or signal handler waits for it.
        task::spawn("reload", async move {
            reply.send(reload(&hub).await).ok();
        });
        answer.await.unwrap_or(Err(ReloadError::Interrupted))
    }

    /// The live tree.
    pub fn tree(&self) -> ActorView {
        match self.hub.root.get() {
            Some(root) => self.hub.metas.view(root),
            None => ActorView::starting(self.hub.started_at),
        }
    }

    /// Whether the node takes work.
    pub fn readiness(&self) -> Readiness {
        if self.hub.is_shutting_down() {
            return Readiness::NotReady("the node is shutting down".to_owned());
        }
        match self.hub.store.health() {
            StoreHealth::Failed(why) => Readiness::NotReady(format!("the store failed: {why}")),
            StoreHealth::Open | StoreHealth::Low => Readiness::Ready,
        }
    }

    /// The node about itself.
    pub fn info(&self) -> NodeInfo {
        let mut warnings = self.hub.warnings.clone();
        let unascribed = lock(&self.hub.unascribed).clone();
        if !unascribed.is_empty() {
            warnings.push(format!(
                "processes that can't be ascribed to a launch keep exits from being confirmed: {}",
                unascribed.join(", ")
            ));
        }
        if self.hub.store.health() == StoreHealth::Low {
            warnings.push("free space is under the floor: nothing new is launched".to_owned());
        }
        NodeInfo {
            node: self.hub.node,
            session: self.hub.session,
            started_at: self.hub.started_at,
            warnings,
        }
    }

    /// Who stands behind the token with this SHA-256; `None`: nobody, or it has expired.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn authenticate(&self, hash: [u8; 32]) -> Result<Option<Principal>, EntryError> {
        let token = self
            .hub
            .store
            .token_by_hash(&TokenHash(hash))
            .map_err(|error| EntryError::StoreFailed(error.to_string()))?;
        let now = self.hub.clock.wall();
        Ok(token
            .filter(|token| token.expires.is_none_or(|expires| expires > now))
            .map(|token| Principal {
                user: token.user,
                operations: match token.operations {
                    Operations::All => None,
                    Operations::Only(operations) => Some(operations),
                },
            }))
    }

    fn cell(&self, name: &str) -> Result<Arc<EntryCell>, EntryError> {
        self.hub
            .cell(name)
            .ok_or_else(|| EntryError::NotFound(name.chars().take(80).collect()))
    }

    fn status(&self, cell: &Arc<EntryCell>) -> Result<EntryStatus, EntryError> {
        self.hub
            .status(cell)
            .ok_or_else(|| EntryError::NotFound(cell.name.to_string()))
    }

    /// After a failed write nothing new is started (SUP-38): said at once, rather than by launches that fail one after another.
    fn store_takes_launches(&self) -> Result<(), EntryError> {
        match self.hub.store.health() {
            StoreHealth::Failed(why) => Err(EntryError::StoreFailed(why.to_string())),
            StoreHealth::Open | StoreHealth::Low => Ok(()),
        }
    }

    fn ask(&self, cell: &Arc<EntryCell>, verb: fn(Ask) -> Event) -> Result<Waiter, EntryError> {
        if self.hub.is_shutting_down() {
            return Err(EntryError::ShuttingDown);
        }
        self.hub.ask(cell, verb)
    }

    fn judge(
        &self,
        cell: &EntryCell,
        answer: Option<Result<Answer, String>>,
    ) -> Result<Answer, EntryError> {
        let name = cell.name.clone();
        match answer {
            Some(Ok(Answer::Refused(refusal))) => Err(match refusal {
                Refusal::Unconfirmed(result) => EntryError::Unconfirmed(result),
                Refusal::Removing => EntryError::Removing(name),
                Refusal::ShuttingDown => EntryError::ShuttingDown,
                Refusal::Superseded => EntryError::Superseded(name),
                Refusal::Failed(why) => EntryError::Failed { name, why },
            }),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(why)) => Err(EntryError::StoreFailed(why)),
            None => Err(EntryError::ShuttingDown),
        }
    }
}

async fn reload(hub: &Arc<Hub>) -> Result<ReloadReport, ReloadError> {
    let _turn = hub.reloading.lock().await;
    if hub.is_shutting_down() {
        return Err(ReloadError::ShuttingDown);
    }
    let source = hub.config.clone();
    let loaded = tokio::task::spawn_blocking(move || source.load()).await;
    let declarations = loaded
        .map_err(|error| ReloadError::Config(vec![error.to_string()]))?
        .map_err(ReloadError::Config)?;
    if hub.is_shutting_down() {
        return Err(ReloadError::ShuttingDown);
    }
    let (reply, applied) = oneshot::channel();
    let loaded = Loaded {
        declarations,
        reply,
    };
    hub.entries_mailbox
        .post(EntriesItem::Apply(Arc::new(Mutex::new(Some(loaded)))));
    applied.await.map_err(|_| ReloadError::Interrupted)
}
