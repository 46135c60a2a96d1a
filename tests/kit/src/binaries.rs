//! Where the programs under test are.

use std::path::{Path, PathBuf};

/// The node: `TREEWARDEN_BIN`, else `treewarden` beside the test's own target directory.
pub fn treewarden() -> PathBuf {
    std::env::var_os("TREEWARDEN_BIN").map_or_else(|| built("treewarden"), PathBuf::from)
}

/// The plugin that misbehaves on request.
pub fn faulty_plugin() -> PathBuf {
    built("faulty-plugin")
}

/// The folder with the workspace's build products: `target/`.
pub fn target() -> PathBuf {
    profile_directory()
        .parent()
        .expect("a profile's folder lies in target")
        .to_owned()
}

/// A program of the same build as the running test.
///
/// # Panics
/// It has not been built: a test command builds the whole workspace first.
pub fn built(name: &str) -> PathBuf {
    let path = profile_directory().join(name);
    assert!(
        path.is_file(),
        "{} is not built: run `cargo build --workspace --bins` first",
        path.display()
    );
    path
}

/// `target/debug` or the like: the test runs from its `deps` or is a program of its own.
fn profile_directory() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own path");
    let folder = own.parent().expect("a program lies in a folder");
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    Path::to_owned(folder)
}
