//! Starting a node (walk 1) and holding it while it runs.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use ractor::{Actor, ActorRef};
use treewarden_model::declaration::Declaration;
use treewarden_model::entry::Desired;
use treewarden_model::name::EntryName;
use treewarden_model::shutdown;
use treewarden_runtime::clock::SystemClock;
use treewarden_runtime::local::LocalLauncher;
use treewarden_runtime::timers::Timers;
use treewarden_storage::{Opened, RecordedStop, StoreHandle};

use super::{NodeActor, ending};
use crate::NodeHandle;
use crate::edge::EdgeParts;
use crate::edge_server::EdgeServer;
use crate::hub::{ConfigSource, Hub, HubParts};
use crate::mailbox::Look;
use crate::warden::{KeeperSetup, Warden, WardenHandle};

/// What a node is made of.
pub struct NodeParts {
    /// The opened store, with what it knows of earlier starts.
    pub opened: Opened,
    /// The data directory, absolute.
    pub data_dir: PathBuf,
    /// Id of this boot of the machine.
    pub boot_id: uuid::Uuid,
    /// Entries to begin with.
    pub entries: BTreeMap<EntryName, Declaration>,
    /// Where they come from at a reload.
    pub config: Arc<dyn ConfigSource>,
    /// How the keeper is started.
    pub keeper: KeeperSetup,
    /// The HTTP interface.
    pub edge: Arc<dyn EdgeServer>,
    /// What it listens on; nonblocking.
    pub listener: TcpListener,
    /// Things an operator should know.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for NodeParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeParts")
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}

/// Why a node could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No timers.
    #[error("the node's timers could not be started: {0}")]
    Timers(std::io::Error),
    /// No actor tree.
    #[error("the actor tree could not be started: {0}")]
    Tree(String),
}

/// A running node. Keep it until [`RunningNode::shut_down`].
#[derive(Debug)]
pub struct RunningNode {
    hub: Arc<Hub>,
    root: ActorRef<Look>,
    warden: WardenHandle,
}

impl RunningNode {
    /// Starts the tree, and the warden that releases the entries once nothing of an earlier start is left. Inside a tokio runtime.
    ///
    /// # Errors
    /// See [`StartError`]; then nothing runs.
    pub async fn start(parts: NodeParts) -> Result<Self, StartError> {
        let clock = Arc::new(SystemClock::new());
        let timers = Timers::start(clock.clone()).map_err(StartError::Timers)?;
        let store = parts.opened.store;
        let identity = parts.opened.identity;
        let launcher = LocalLauncher::new(identity.node, timers.clone(), clock.clone());
        let hub = Arc::new(Hub::new(HubParts {
            clock,
            timers,
            store: store.clone(),
            launcher: Arc::new(launcher.clone()),
            config: parts.config,
            node: identity.node,
            session: identity.session,
            data_dir: parts.data_dir,
            boot_id: parts.boot_id,
            warnings: parts.warnings,
        }));
        let wanted = wanted(&store, parts.entries);
        let names: Vec<EntryName> = wanted
            .iter()
            .map(|(declaration, _)| declaration.name.clone())
            .collect();
        for cell in hub.add(wanted) {
            drop(cell);
        }
        for name in names {
            match store.stops(&name) {
                Ok(mut stops) => {
                    if let Some(RecordedStop { result, at }) = stops.pop() {
                        hub.note_last_stop(result, at);
                    }
                }
                // What is shown of the past is not worth the present.
                Err(error) => {
                    tracing::error!(entry = %name, error = %error, "How an entry ended earlier can't be read")
                }
            }
        }
        for record in &parts.opened.open_launches {
            hub.inherit(&record.entry, record.launch);
        }
        hub.look_at_all();
        let edge = EdgeParts {
            hub: hub.clone(),
            server: parts.edge,
            listener: Arc::new(parts.listener),
        };
        let (root, _) = NodeActor::spawn(None, NodeActor, edge)
            .await
            .map_err(|error| StartError::Tree(error.to_string()))?;
        hub.root.set(root.get_cell()).ok();
        let warden = Warden::start(
            hub.clone(),
            launcher,
            parts.keeper,
            parts.opened.open_launches,
        );
        Ok(Self { hub, root, warden })
    }

    /// A handle for the edge and the command line.
    pub fn handle(&self) -> NodeHandle {
        NodeHandle::new(self.hub.clone())
    }

    /// Ends the node in its order (CMP-50): edge, entries by their ladders, keeper, store. Every step is bounded; what did not finish is
    /// logged and answered as [`shutdown::Ending::Unfinished`].
    pub async fn shut_down(self) -> shutdown::Ending {
        ending::run(self.hub, self.root, self.warden).await
    }
}

/// What is wanted of each entry: a stop holds over restarts as long as the declaration is the same (SUP-39). Where that can't be read, nothing
/// is started before somebody says so.
fn wanted(
    store: &StoreHandle,
    entries: BTreeMap<EntryName, Declaration>,
) -> Vec<(Declaration, Desired)> {
    let with = |declaration: Declaration| {
        let desired = match store.desired_of(&declaration.name) {
            Ok(Some(said)) if said.declared == declaration.fingerprint() => said.state,
            Ok(_) => Desired::Running,
            Err(error) => {
                tracing::error!(entry = %declaration.name, error = %error, "What is wanted of an entry can't be read; it waits for a start");
                Desired::Stopped
            }
        };
        (declaration, desired)
    };
    entries.into_values().map(with).collect()
}
