//! The programs under test, of the same build as the bench.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};

/// The node, whose inner programs are the keeper and the shim.
pub(crate) fn node() -> anyhow::Result<PathBuf> {
    built("treewarden")
}

/// The example plugin.
pub(crate) fn ledger() -> anyhow::Result<PathBuf> {
    built("treewarden-ledger")
}

/// The plugin that leaves a daemon when asked.
pub(crate) fn faulty_plugin() -> anyhow::Result<PathBuf> {
    built("faulty-plugin")
}

fn built(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("the bench does not know its own path")?;
    let path = own.with_file_name(name);
    ensure!(
        path.is_file(),
        "{name} is not built beside the bench: run `cargo build --release --workspace --bins` first"
    );
    Ok(path)
}
