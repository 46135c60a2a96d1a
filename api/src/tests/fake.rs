//! A stand-in for the node: answers what it was given, and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};
use treewarden_actors::answers::{
    CallError, CallResult, EntryError, LogLine, NodeInfo, Principal, Readiness, ReloadError,
    ReloadReport, Restarted, Started,
};
use treewarden_actors::view::ActorView;
use treewarden_model::declaration::{Limits, Placement, Source};
use treewarden_model::entry::Desired;
use treewarden_model::id::{Generation, Instance, LaunchNumber, NodeId, SessionNumber};
use treewarden_model::name::{EntryName, ServiceName};
use treewarden_model::outcome::{
    Cause, CleanupCause, CleanupCauseKind, Ending, Evidence, ExitStatus, Outcome, StopResult,
};
use treewarden_model::status::{EnforcedLimits, Enforcement, EntryStatus, Process, StateWord};
use treewarden_model::time::{Clock, Timestamp, WallTime};

use crate::node::Node;

/// 2026-01-31T10:20:30.123Z
pub(super) const MOMENT: WallTime = WallTime(1_769_854_830_123);

#[derive(Debug)]
pub(super) struct FakeClock;

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
    fn wall(&self) -> WallTime {
        MOMENT.plus(Duration::from_secs(90))
    }
}

type Slot<T> = Arc<Mutex<Option<T>>>;

/// What is set is answered once; else an ordinary answer comes.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeNode {
    pub(super) asked: Arc<Mutex<Vec<String>>>,
    pub(super) start: Slot<Result<Started, EntryError>>,
    pub(super) stop: Slot<Result<Option<StopResult>, EntryError>>,
    pub(super) restart: Slot<Result<Restarted, EntryError>>,
    pub(super) call: Slot<CallResult>,
    pub(super) reload: Slot<Result<ReloadReport, ReloadError>>,
    pub(super) not_ready: Slot<String>,
    pub(super) store_error: Slot<EntryError>,
    /// How many entries there are besides `ledger`.
    pub(super) more_entries: Arc<Mutex<usize>>,
}

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock().unwrap().take()
}

pub(super) fn set<T>(slot: &Slot<T>, value: T) {
    *slot.lock().unwrap() = Some(value);
}

pub(super) fn name(text: &str) -> EntryName {
    EntryName::parse(text).unwrap()
}

pub(super) fn instance() -> Instance {
    Instance {
        id: "11111111-2222-3333-4444-555555555555".to_owned(),
        generation: Generation::LOCAL,
    }
}

pub(super) fn stopped(outcome: Outcome) -> StopResult {
    let unconfirmed = outcome == Outcome::TerminationUnconfirmed;
    let cause = CleanupCause {
        kind: CleanupCauseKind::LocalTerminationTimeout,
        message: "a timer was left".to_owned(),
    };
    StopResult {
        entry: name("ledger"),
        instance: instance(),
        launch: LaunchNumber::from_stored(31),
        ending: Ending {
            outcome,
            cause: Cause::Requested,
            evidence: (!unconfirmed).then_some(Evidence::Tree),
            exit_status: (!unconfirmed).then_some(ExitStatus::Code(0)),
            duration: Duration::from_millis(41),
            cleanup: if outcome == Outcome::Exited {
                Vec::new()
            } else {
                vec![cause]
            },
        },
    }
}

pub(super) fn status(text: &str) -> EntryStatus {
    EntryStatus {
        name: name(text),
        placement: Placement::Local,
        source: Source::File,
        desired: Desired::Running,
        state: StateWord::Running,
        reason: "Launch 31 runs.".to_owned(),
        hint: None,
        process: Some(Process {
            instance: instance(),
            launch: LaunchNumber::from_stored(31),
            pid: Some(4711),
            exited: false,
            limits: Some(EnforcedLimits {
                memory: Some(Enforcement::Rlimit),
                processes: Some(Enforcement::NotEnforced),
                ..EnforcedLimits::default()
            }),
        }),
        since: MOMENT,
        restarts: 2,
        provides: vec![ServiceName::parse("ledger").unwrap()],
        uses: Vec::new(),
        limits: Limits {
            memory: Some(256 << 20),
            processes: Some(64),
            open_files: None,
            cpu: None,
        },
        last_stop: Some(stopped(Outcome::Killed)),
        last_stop_at: Some(MOMENT),
        last_error: None,
        next_retry_at: None,
        last_lines: vec!["the till is open".to_owned()],
        command: vec!["/bin/ledger".to_owned(), "--verbose".to_owned()],
    }
}

pub(super) fn tree() -> ActorView {
    let actor = |id: &str, name: &str, kind, detail, children| ActorView {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        status: "running",
        started_at: MOMENT,
        restarts: 0,
        queued: 0,
        handled: 12,
        detail,
        children,
    };
    let detail = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let shown = detail(
        json!({ "pid": 4711, "launch": 31, "generation": 1, "placement": "local", "lease": null }),
    );
    let odd = detail(json!({ "why": "say \"hi\\there\"\n", "state": "backing_off" }));
    let running = actor("0.5", "instance:1111", "instance", shown, Vec::new());
    let ledger = actor(
        "0.4",
        "entry:ledger",
        "entry",
        detail(json!({ "state": "running" })),
        vec![running],
    );
    let mut writer = actor("0.6", "entry:writer", "entry", odd, Vec::new());
    writer.status = "starting";
    writer.restarts = 3;
    writer.queued = 2;
    let entries = actor(
        "0.3",
        "entries",
        "entries",
        Map::new(),
        vec![ledger, writer],
    );
    let store = actor("0.2", "store", "store", Map::new(), Vec::new());
    actor("0.1", "node", "node", Map::new(), vec![store, entries])
}

impl FakeNode {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn known(text: &str) -> Result<(), EntryError> {
    if text == "ledger" {
        Ok(())
    } else {
        Err(EntryError::NotFound(text.to_owned()))
    }
}

impl Node for FakeNode {
    fn list(&self) -> Vec<EntryStatus> {
        let more = *self.more_entries.lock().unwrap();
        std::iter::once("ledger".to_owned())
            .chain((0..more).map(|number| format!("more-{number:04}")))
            .map(|name| status(&name))
            .collect()
    }

    fn show(&self, name: &str) -> Result<EntryStatus, EntryError> {
        known(name).map(|()| status(name))
    }

    async fn start(&self, name: &str) -> Result<Started, EntryError> {
        self.note(format!("start {name}"));
        known(name)?;
        take(&self.start).unwrap_or_else(|| Ok(Started::Running(Box::new(status(name)))))
    }

    async fn stop(&self, name: &str) -> Result<Option<StopResult>, EntryError> {
        self.note(format!("stop {name}"));
        known(name)?;
        take(&self.stop).unwrap_or_else(|| Ok(Some(stopped(Outcome::Exited))))
    }

    async fn kill(&self, name: &str) -> Result<Option<StopResult>, EntryError> {
        self.note(format!("kill {name}"));
        known(name)?;
        Ok(Some(stopped(Outcome::Killed)))
    }

    async fn restart(&self, name: &str) -> Result<Restarted, EntryError> {
        self.note(format!("restart {name}"));
        known(name)?;
        take(&self.restart).unwrap_or_else(|| {
            Ok(Restarted {
                stop: Some(stopped(Outcome::Exited)),
                started: Ok(()),
            })
        })
    }

    async fn reset(&self, name: &str) -> Result<EntryStatus, EntryError> {
        self.note(format!("reset {name}"));
        known(name).map(|()| status(name))
    }

    async fn call(
        &self,
        name: &str,
        service: &str,
        method: &str,
        params: Option<&RawValue>,
        timeout: Option<Duration>,
    ) -> CallResult {
        self.note(format!(
            "call {name} {service}.{method} {} {timeout:?}",
            params.map_or("-", RawValue::get)
        ));
        known(name).map_err(|_| CallError::NotFound(name.to_owned()))?;
        take(&self.call).unwrap_or_else(|| {
            Ok(RawValue::from_string(r#"{"b":1.50,"a":[]}"#.to_owned()).unwrap())
        })
    }

    fn logs(&self, name: &str, tail: usize) -> Result<Vec<LogLine>, EntryError> {
        self.note(format!("logs {name} {tail}"));
        known(name)?;
        Ok(vec![LogLine {
            time: MOMENT,
            stream: "stderr",
            text: "the till is open".to_owned(),
        }])
    }

    async fn reload(&self) -> Result<ReloadReport, ReloadError> {
        self.note("reload".to_owned());
        take(&self.reload).unwrap_or_else(|| {
            Ok(ReloadReport {
                unchanged: vec![name("ledger")],
                ..ReloadReport::default()
            })
        })
    }

    fn tree(&self) -> ActorView {
        tree()
    }

    fn readiness(&self) -> Readiness {
        take(&self.not_ready).map_or(Readiness::Ready, Readiness::NotReady)
    }

    fn info(&self) -> NodeInfo {
        NodeInfo {
            node: NodeId(uuid::Uuid::nil()),
            session: SessionNumber(7),
            started_at: MOMENT,
            warnings: vec!["mind the gap".to_owned()],
        }
    }

    /// The token `all` may all, `only:x,y` may x and y, `but:x` all but x.
    fn authenticate(&self, hash: [u8; 32]) -> Result<Option<Principal>, EntryError> {
        if let Some(error) = take(&self.store_error) {
            return Err(error);
        }
        let is = |token: &str| hash == <[u8; 32]>::from(Sha256::digest(token.as_bytes()));
        let user = || "admin".to_owned();
        if is("all") {
            return Ok(Some(Principal {
                user: user(),
                operations: None,
            }));
        }
        let operations = super::routes::operations();
        for one in &operations {
            if is(&format!("only:{one}")) {
                return Ok(Some(Principal {
                    user: user(),
                    operations: Some(vec![one.clone()]),
                }));
            }
            if is(&format!("but:{one}")) {
                let others = operations
                    .iter()
                    .filter(|other| *other != one)
                    .cloned()
                    .collect();
                return Ok(Some(Principal {
                    user: user(),
                    operations: Some(others),
                }));
            }
        }
        Ok(None)
    }

    #[cfg(feature = "faults")]
    fn kill_actor(&self, id: &str) -> bool {
        self.note(format!("kill actor {id}"));
        id == "0.5"
    }

    #[cfg(feature = "faults")]
    fn leap(&self, by: Duration) {
        self.note(format!("leap {by:?}"));
    }

    #[cfg(feature = "faults")]
    fn ballast(&self, bytes: usize) {
        self.note(format!("ballast {bytes}"));
    }
}
