//! A node composed in the bench's own process, with the real program as keeper and shim: its handle can be timed without HTTP.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use treewarden_actors::{
    ConfigSource, EdgePhase, EdgeServer, KeeperSetup, NodeHandle, NodeParts, RunningNode,
};
use treewarden_keeper::KeeperOptions;
use treewarden_model::declaration::{
    Declaration, EnvValue, Limits, Placement, SHUTDOWN_TIMEOUT, Source,
};
use treewarden_model::name::{EntryName, ServiceName};
use treewarden_model::retry::{Exponential, RetryPolicy};
use treewarden_model::status::StateWord;

use crate::{clock, observer, programs};

/// A running node and its directory.
pub(crate) struct Node {
    runtime: Runtime,
    node: Option<RunningNode>,
    handle: NodeHandle,
    folder: TempDir,
}

impl Node {
    /// Starts a node with these entries and waits until they serve.
    pub(crate) fn start(entries: Vec<Declaration>) -> anyhow::Result<Self> {
        observer::start();
        let folder = TempDir::new()?;
        let data_dir = folder.path().join("data");
        treewarden_runtime::system::bound_allocator_arenas();
        let soft_open_files = treewarden_runtime::system::raise_open_files()?;
        treewarden_keeper::orphans::become_subreaper()?;
        let opened =
            treewarden_storage::open(&data_dir, treewarden_storage::OpenOptions::default())?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let names: Vec<EntryName> = entries.iter().map(|entry| entry.name.clone()).collect();
        let parts = NodeParts {
            opened,
            data_dir: data_dir.clone(),
            boot_id: treewarden_keeper::system::boot_id()?
                .parse()
                .context("the boot id can't be read")?,
            entries: entries
                .into_iter()
                .map(|entry| (entry.name.clone(), entry))
                .collect(),
            config: Arc::new(NoConfig),
            keeper: KeeperSetup {
                options: KeeperOptions {
                    program: programs::node()?,
                    args: vec!["keeper".into()],
                    shim_program: programs::node()?,
                    shim_args: vec!["shim".into()],
                    data_dir,
                    soft_open_files,
                    cgroup: treewarden_keeper::CgroupUse::default(),
                },
            },
            edge: Arc::new(NoEdge),
            listener,
            warnings: Vec::new(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let node = runtime.block_on(RunningNode::start(parts))?;
        let node = Self {
            runtime,
            handle: node.handle(),
            node: Some(node),
            folder,
        };
        for name in &names {
            node.wait_running(name.as_str())?;
        }
        Ok(node)
    }

    pub(crate) fn handle(&self) -> &NodeHandle {
        &self.handle
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The folder around the data directory.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An entry's working directory.
    pub(crate) fn working_dir(&self, entry: &str) -> PathBuf {
        self.folder.path().join("data/work").join(entry)
    }

    /// The plugin's process number once it serves.
    pub(crate) fn wait_running(&self, entry: &str) -> anyhow::Result<u32> {
        self.wait_replaced(entry, None)
    }

    /// The same of a launch that does not run as `old`: for a moment after its confirmed end a launch is still shown.
    pub(crate) fn wait_replaced(&self, entry: &str, old: Option<u32>) -> anyhow::Result<u32> {
        clock::wait_for(
            &format!("the start of {entry}"),
            Duration::from_secs(15),
            || {
                let status = self.handle.show(entry).ok()?;
                let pid = status.process?.pid?;
                (status.state == StateWord::Running && Some(pid) != old).then_some(pid)
            },
        )
    }

    pub(crate) fn shut_down(mut self) -> anyhow::Result<()> {
        if let Some(node) = self.node.take() {
            let ending = self.runtime.block_on(node.shut_down());
            anyhow::ensure!(
                ending == treewarden_model::shutdown::Ending::Clean,
                "the node did not shut down cleanly"
            );
        }
        Ok(())
    }
}

/// An entry that runs `command` and is started again at once when it crashes.
pub(crate) fn entry(
    name: &str,
    command: &[&str],
    provides: &[&str],
) -> anyhow::Result<Declaration> {
    let services = provides
        .iter()
        .map(|service| ServiceName::parse(service))
        .collect::<Result<_, _>>()?;
    Ok(Declaration {
        name: EntryName::parse(name)?,
        source: Source::File,
        placement: Placement::Local,
        command: command.iter().map(|&part| part.to_owned()).collect(),
        env: BTreeMap::<String, EnvValue>::new(),
        config: serde_json::Value::Null,
        provides: services,
        uses: Vec::new(),
        limits: Limits::default(),
        retry: RetryPolicy::Exponential(Exponential {
            initial: Duration::ZERO,
            max: Duration::ZERO,
            factor_percent: 100,
            restarts: 10_000,
            within: Duration::from_secs(1),
        }),
        shutdown_timeout: SHUTDOWN_TIMEOUT,
    })
}

/// The configuration never changes.
struct NoConfig;

impl ConfigSource for NoConfig {
    fn load(&self) -> Result<BTreeMap<EntryName, Declaration>, Vec<String>> {
        Err(vec!["the bench has no configuration file".to_owned()])
    }
}

/// No HTTP interface.
struct NoEdge;

impl EdgeServer for NoEdge {
    fn serve(
        &self,
        _: TcpListener,
        _: NodeHandle,
        mut phase: watch::Receiver<EdgePhase>,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>> {
        Box::pin(async move {
            phase
                .wait_for(|phase| *phase == EdgePhase::Closed)
                .await
                .map(|_| ())
                .ok();
            Ok(())
        })
    }
}
