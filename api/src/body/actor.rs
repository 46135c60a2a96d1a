//! The actor tree as JSON (interfaces.md §6).

use serde::Serialize;
use serde_json::{Map, Value};
use treewarden_actors::view::ActorView;

use super::time::Moment;

#[derive(Debug, Serialize)]
struct MailboxBody {
    queued: u64,
    handled: u64,
}

/// An actor with all below it.
#[derive(Debug, Serialize)]
pub(crate) struct ActorBody<'a> {
    id: &'a str,
    name: &'a str,
    kind: &'static str,
    status: &'static str,
    started_at: Moment,
    restarts: u64,
    mailbox: MailboxBody,
    detail: &'a Map<String, Value>,
    children: Vec<Self>,
}

impl<'a> From<&'a ActorView> for ActorBody<'a> {
    fn from(view: &'a ActorView) -> Self {
        Self {
            id: &view.id,
            name: &view.name,
            kind: view.kind,
            status: view.status,
            started_at: Moment(view.started_at),
            restarts: view.restarts,
            mailbox: MailboxBody {
                queued: view.queued,
                handled: view.handled,
            },
            detail: &view.detail,
            children: view.children.iter().map(Self::from).collect(),
        }
    }
}
