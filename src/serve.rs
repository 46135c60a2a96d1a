//! `treewarden serve`: puts the node together, and holds it until it is told to end.

mod admin_token;
mod logging;
mod signals;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use treewarden_actors::{ConfigSource, KeeperSetup, NodeParts, RunningNode};
use treewarden_keeper::{CgroupUse, KeeperOptions};
use treewarden_model::declaration::Declaration;
use treewarden_model::name::EntryName;
use treewarden_model::shutdown::Ending;

use crate::cli::ServeArgs;
use crate::config::{self, Config, NodeConfig};

pub(crate) use logging::LogFormat;
use logging::Logging;

/// Default data directory, relative to where the node is started.
const DATA_DIR: &str = "./treewarden-data";
/// Default address.
const LISTEN: &str = "127.0.0.1:7420";
/// How long threads that still read files may keep the node from ending.
const LINGER: std::time::Duration = std::time::Duration::from_secs(1);
/// Whether launches get control groups: `where-writable` (the default), `without-kill` or `off`. For tests, and for finding out whether
/// control groups are to blame.
const CGROUP_VARIABLE: &str = "TREEWARDEN_CGROUP";
/// Exit code of a shutdown that left something unfinished (CMP-51).
const UNFINISHED: u8 = 3;

/// Runs the node.
pub(crate) fn run(options: ServeArgs) -> ExitCode {
    let logging = logging::start(options.log_format);
    #[cfg(feature = "faults")]
    treewarden_actors::faults::arm();
    match serve(options, &logging) {
        Ok(Ending::Clean) => ExitCode::SUCCESS,
        Ok(Ending::Unfinished) => ExitCode::from(UNFINISHED),
        Err(error) => {
            crate::print::error(&format!("treewarden could not start: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn serve(options: ServeArgs, logging: &Logging) -> anyhow::Result<Ending> {
    treewarden_runtime::system::bound_allocator_arenas();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("treewarden")
        .build()?;
    // Before anything else: a signal that comes early must find the orderly way out.
    let mut signals = runtime.block_on(async { signals::Signals::listen() })?;
    let config = match &options.config {
        Some(path) => config::load(path)?,
        None => Config::default(),
    };
    let data_dir = options
        .data_dir
        .or_else(|| config.node.data_dir.clone())
        .unwrap_or_else(|| DATA_DIR.into());
    let data_dir = std::path::absolute(&data_dir)
        .with_context(|| format!("data directory {}", data_dir.display()))?;
    let address = listen_address(options.listen.as_deref(), &config)?;
    let soft_open_files = treewarden_runtime::system::raise_open_files()
        .context("the limit of open files could not be raised")?;
    treewarden_keeper::orphans::become_subreaper()
        .context("the node could not become a subreaper")?;

    let open = treewarden_storage::OpenOptions {
        storage_floor: config.node.storage_floor,
        ..Default::default()
    };
    let opened = treewarden_storage::open(&data_dir, open)?;
    if let Some(jump) = opened.counters_raised {
        tracing::warn!(reason = %jump, "Every counter was raised, so that no number is given twice");
    }
    let listener = listen(address)?;
    let address = listener.local_addr()?;
    let boot_id = treewarden_keeper::system::boot_id()?
        .parse()
        .context("the boot id can't be read")?;
    let ending: anyhow::Result<Ending> = runtime.block_on(async {
        logging.tell_drops();
        admin_token::ensure(&opened.store, &data_dir).await?;
        let edge = treewarden_api::Edge::new(treewarden_api::EdgeConfig {
            listen: address,
            hosts: config.node.hosts.clone(),
            clock: Arc::new(treewarden_runtime::clock::SystemClock::new()),
        });
        let mut warnings = config.warnings.clone();
        warnings.push("isolation: none: plugins run as the node's user, so grants bind only what they ask the node for".to_owned());
        for warning in &warnings {
            tracing::warn!(warning, "Something an operator should know");
        }
        let parts = NodeParts {
            opened,
            data_dir: data_dir.clone(),
            boot_id,
            entries: config.entries,
            config: Arc::new(FileSource(options.config)),
            keeper: keeper_setup(&data_dir, soft_open_files)?,
            edge: Arc::new(edge),
            listener,
            warnings,
        };
        let node = RunningNode::start(parts).await?;
        ready(address)?;
        signals.until_told_to_end(&node.handle()).await;
        Ok(node.shut_down().await)
    });
    // A file that hangs (a secret on a dead mount) must not keep the node from ending.
    runtime.shutdown_timeout(LINGER);
    ending
}

/// One line on stdout, then nothing more (interfaces.md §1).
fn ready(address: SocketAddr) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    // Whoever started the node may have gone; the node goes on.
    writeln!(stdout, "treewarden ready on http://{address}")
        .and_then(|()| stdout.flush())
        .ok();
    Ok(())
}

fn keeper_setup(data_dir: &Path, soft_open_files: Option<u64>) -> anyhow::Result<KeeperSetup> {
    let own = PathBuf::from("/proc/self/exe");
    let cgroup = match std::env::var(CGROUP_VARIABLE) {
        Ok(word) => CgroupUse::from_word(&word).with_context(|| {
            format!("{CGROUP_VARIABLE}={word} is none of where-writable, without-kill, off")
        })?,
        Err(_) => CgroupUse::default(),
    };
    Ok(KeeperSetup {
        options: KeeperOptions {
            program: own.clone(),
            args: vec!["keeper".into()],
            shim_program: own,
            shim_args: vec!["shim".into()],
            data_dir: data_dir.to_owned(),
            soft_open_files,
            cgroup,
        },
    })
}

fn listen_address(flag: Option<&str>, config: &Config) -> anyhow::Result<SocketAddr> {
    let Some(flag) = flag else {
        return Ok(match config.node.listen {
            Some(address) => address,
            None => LISTEN.parse()?,
        });
    };
    let address: SocketAddr = flag
        .parse()
        .with_context(|| format!("--listen {flag} is no address with a port, such as {LISTEN}"))?;
    if !NodeConfig::may_listen(address, config.node.behind_proxy) {
        bail!(
            "--listen {flag} is reachable from outside: that needs behind_proxy: true in the configuration, and a proxy that ends TLS"
        );
    }
    Ok(address)
}

fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| {
        format!(
            "could not listen on {address}; is another node running? choose another with --listen"
        )
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The configuration file, read again at a reload.
struct FileSource(Option<PathBuf>);

impl ConfigSource for FileSource {
    fn load(&self) -> Result<BTreeMap<EntryName, Declaration>, Vec<String>> {
        let Some(path) = &self.0 else {
            return Ok(BTreeMap::new());
        };
        match config::load(path) {
            Ok(config) => Ok(config.entries),
            Err(error) => {
                tracing::warn!(error = %error, "The configuration file is wrong; nothing was changed");
                Err(error.problems())
            }
        }
    }
}
