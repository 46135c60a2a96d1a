//! Plugins as child processes of the keeper: placement `local`.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use treewarden_keeper::wire::SpawnRequest;
use treewarden_keeper::{LaunchText, Mark, NodeTag, Ordinal};
use treewarden_model::id::NodeId;

use crate::clock::SystemClock;
use crate::connection::{Connection, Parts};
use crate::keeper::Keeper;
use crate::launcher::{
    Boxed, Control, LaunchSpec, LaunchTag, Launcher, PluginProcess, Surroundings,
};
use crate::log_lines;
use crate::system;
use crate::timers::Timers;

pub use treewarden_model::declaration::document::DEFAULT_PATH;

/// The text by which a launch is known in its processes' environment.
pub fn launch_text(node: NodeId, tag: &LaunchTag) -> LaunchText {
    LaunchText(format!("{node}/{}/{}", tag.entry, tag.launch))
}

/// The node's tag in the process table.
pub fn node_tag(node: NodeId) -> NodeTag {
    NodeTag::from_node_id(node.0.as_bytes())
}

/// Starts plugins through the keeper of the moment.
#[derive(Clone)]
pub struct LocalLauncher {
    node: NodeId,
    keeper: Arc<Mutex<Option<Keeper>>>,
    timers: Timers,
    clock: Arc<SystemClock>,
}

impl std::fmt::Debug for LocalLauncher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalLauncher")
            .field("keeper", &self.keeper())
            .finish_non_exhaustive()
    }
}

impl LocalLauncher {
    /// A launcher without a keeper yet.
    pub fn new(node: NodeId, timers: Timers, clock: Arc<SystemClock>) -> Self {
        Self {
            node,
            keeper: Arc::default(),
            timers,
            clock,
        }
    }

    /// From now on this keeper is used, and no longer the one that is answered; `None`: there is none, and every launch is refused.
    pub fn set_keeper(&self, keeper: Option<Keeper>) -> Option<Keeper> {
        let mut present = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *present, keeper)
    }

    /// The keeper of the moment.
    pub fn keeper(&self) -> Option<Keeper> {
        self.keeper
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Launcher for LocalLauncher {
    fn spawn(
        &self,
        spec: LaunchSpec,
        around: Surroundings,
    ) -> Boxed<Result<PluginProcess, String>> {
        let launcher = self.clone();
        Box::pin(async move { launcher.start(spec, around).await })
    }
}

impl LocalLauncher {
    async fn start(&self, spec: LaunchSpec, around: Surroundings) -> Result<PluginProcess, String> {
        let keeper = self.keeper().ok_or("there is no keeper")?;
        prepare_directory(&spec.working_dir)
            .map_err(|error| format!("its working directory could not be made: {error}"))?;
        let text = launch_text(self.node, &spec.tag);
        let ordinal = Ordinal::new(spec.tag.ordinal.0);
        let request = SpawnRequest {
            mark: Mark {
                node: node_tag(self.node),
                ordinal,
            },
            launch_text: text,
            program: spec.program,
            args: spec.args,
            env: spec.env,
            working_dir: spec.working_dir,
            limits: spec.limits,
            user: None,
        };
        let pipes = Pipes::new().map_err(|error| format!("no pipes could be had: {error}"))?;
        let (finish, finishing) = watch::channel(false);
        let connection = Connection::new(Parts {
            tag: spec.tag,
            uses: spec.uses,
            stdin: pipes.stdin.1,
            stdout: pipes.stdout.0,
            events: around.events,
            host: around.host,
            timers: self.timers.clone(),
            clock: self.clock.clone(),
        })
        .map_err(|error| format!("its pipes could not be used: {error}"))?;
        log_lines::drain(pipes.stderr.0, around.lines, self.clock.clone(), finishing)
            .map_err(|error| format!("its stderr could not be used: {error}"))?;
        let spawned = keeper
            .spawn(request, [pipes.stdin.0, pipes.stdout.1, pipes.stderr.1])
            .await;
        let spawned = spawned.map_err(|error| {
            connection.close();
            error.to_string()
        })?;
        Ok(PluginProcess {
            pid: u32::try_from(spawned.pid.get()).unwrap_or_default(),
            start_time: spawned.start_time.0,
            limits: spawned.limits,
            connection,
            control: Arc::new(LocalControl {
                keeper,
                ordinal,
                finish,
            }),
        })
    }
}

/// The three pipes of a plugin, each as (read end, write end).
struct Pipes {
    stdin: (OwnedFd, OwnedFd),
    stdout: (OwnedFd, OwnedFd),
    stderr: (OwnedFd, OwnedFd),
}

impl Pipes {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            stdin: system::pipe()?,
            stdout: system::pipe()?,
            stderr: system::pipe()?,
        })
    }
}

/// Kept between launches; nobody but the node's user and the plugin's may look into it.
fn prepare_directory(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

struct LocalControl {
    keeper: Keeper,
    ordinal: Ordinal,
    finish: watch::Sender<bool>,
}

impl Control for LocalControl {
    fn interrupt(&self) {
        self.keeper.interrupt(self.ordinal);
    }

    fn kill(&self) {
        self.keeper.kill(self.ordinal);
    }

    fn gone(&self) {
        self.finish.send_replace(true);
    }
}
