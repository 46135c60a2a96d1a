//! The one table of what is served, and of the operation each needs.

use crate::operation::Operation;

/// How a route is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Reads; goes on while the node drains. `HEAD` comes with it.
    Get,
    /// Changes something, or makes a plugin work; refused while the node drains.
    Post,
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody who reaches the port.
    Open,
    /// Who has this operation.
    Needs(Operation),
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Live,
    Ready,
    Node,
    ListEntries,
    ShowEntry,
    StartEntry,
    StopEntry,
    RestartEntry,
    KillEntry,
    ResetEntry,
    CallService,
    Logs,
    Reload,
    Actors,
    Actor,
    #[cfg(feature = "faults")]
    KillActor,
    #[cfg(feature = "faults")]
    LeapClock,
    #[cfg(feature = "faults")]
    TakeBallast,
}

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) verb: Verb,
    /// The path, with at most one parameter.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) action: Action,
}

const fn open(path: &'static str, action: Action) -> Route {
    Route {
        verb: Verb::Get,
        path,
        access: Access::Open,
        action,
    }
}

const fn get(path: &'static str, operation: Operation, action: Action) -> Route {
    Route {
        verb: Verb::Get,
        path,
        access: Access::Needs(operation),
        action,
    }
}

const fn post(path: &'static str, operation: Operation, action: Action) -> Route {
    Route {
        verb: Verb::Post,
        path,
        access: Access::Needs(operation),
        action,
    }
}

impl Route {
    /// Whether its handler reads a body of its own; any other POST takes nothing.
    pub(crate) const fn takes_body(&self) -> bool {
        match self.action {
            Action::CallService => true,
            #[cfg(feature = "faults")]
            Action::LeapClock | Action::TakeBallast => true,
            _ => false,
        }
    }
}

/// All routes.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    open("/livez", Action::Live),
    open("/readyz", Action::Ready),
    get("/api/console/node", Operation::NodeView, Action::Node),
    get("/api/console/entries", Operation::EntriesView, Action::ListEntries),
    get("/api/console/entries/{name}", Operation::EntriesView, Action::ShowEntry),
    get("/api/console/entries/{name}/logs", Operation::EntriesView, Action::Logs),
    post("/api/console/entries/{name}/start", Operation::EntriesManage, Action::StartEntry),
    post("/api/console/entries/{name}/stop", Operation::EntriesManage, Action::StopEntry),
    post("/api/console/entries/{name}/restart", Operation::EntriesManage, Action::RestartEntry),
    post("/api/console/entries/{name}/kill", Operation::EntriesManage, Action::KillEntry),
    post("/api/console/entries/{name}/reset", Operation::EntriesManage, Action::ResetEntry),
    post("/api/console/entries/{name}/call", Operation::EntriesCall, Action::CallService),
    post("/api/console/reload", Operation::EntriesManage, Action::Reload),
    get("/debug/actors", Operation::DebugActorsView, Action::Actors),
    get("/debug/actors/{id}", Operation::DebugActorsView, Action::Actor),
    #[cfg(feature = "faults")]
    post("/debug/actors/{id}/kill", Operation::DebugFaults, Action::KillActor),
    #[cfg(feature = "faults")]
    post("/debug/faults/clock", Operation::DebugFaults, Action::LeapClock),
    #[cfg(feature = "faults")]
    post("/debug/faults/ballast", Operation::DebugFaults, Action::TakeBallast),
];
