//! `edge`: keeps the HTTP interface served. Killed, its connections are closed and its replacement serves the same listener.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use treewarden_model::time::Clock as _;
use treewarden_runtime::task::{self, TaskHandle};

use crate::NodeHandle;
use crate::edge_server::EdgeServer;
use crate::hub::Hub;
use crate::mailbox::Look;
use crate::meta::{Meta, Shown};

/// Wait before serving is tried again after it failed.
const SERVE_AGAIN: Duration = Duration::from_secs(1);

static STARTS: AtomicU64 = AtomicU64::new(0);

pub(crate) struct EdgeActor;

/// What it takes to serve.
#[derive(Clone)]
pub(crate) struct EdgeParts {
    pub(crate) hub: Arc<Hub>,
    pub(crate) server: Arc<dyn EdgeServer>,
    pub(crate) listener: Arc<TcpListener>,
}

pub(crate) struct EdgeState {
    serving: TaskHandle,
    _meta: Arc<Meta>,
}

/// Ends the actor when its serving task ends, by a panic too: its supervisor starts it again.
struct StopAtEnd(ActorRef<Look>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.stop(None);
    }
}

impl Drop for EdgeState {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Actor for EdgeActor {
    type Msg = Look;
    type State = EdgeState;
    type Arguments = EdgeParts;

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        parts: EdgeParts,
    ) -> Result<EdgeState, ActorProcessingErr> {
        let address = parts.listener.local_addr()?.to_string();
        let serving = parts.server.serve(
            parts.listener.try_clone()?,
            NodeHandle::new(parts.hub.clone()),
            parts.hub.edge_phase.subscribe(),
        );
        let done = StopAtEnd(myself.clone());
        let serving = task::spawn("edge", async move {
            let _done = done;
            if let Err(error) = serving.await {
                tracing::error!(error = %error, "The HTTP interface failed and is started again");
                tokio::time::sleep(SERVE_AGAIN).await;
            }
        });
        let meta = parts.hub.metas.enlist(
            myself.get_id(),
            Meta {
                name: "edge".to_owned(),
                kind: "edge",
                started_at: parts.hub.clock.wall(),
                restarts: STARTS.fetch_add(1, Ordering::Relaxed),
                show: Box::new(move || {
                    let mut detail = serde_json::Map::new();
                    detail.insert("listen".to_owned(), address.clone().into());
                    Shown {
                        queued: 0,
                        handled: 0,
                        detail,
                    }
                }),
            },
        );
        Ok(EdgeState {
            serving,
            _meta: meta,
        })
    }
}
