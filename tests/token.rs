//! Who becomes administrator by what lies in the data directory: nobody but who the node made one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    missing_docs,
    reason = "test code"
)]

use std::os::unix::fs::PermissionsExt as _;

use treewarden_kit::{Entry, Node, Options};

fn set_mode(path: &std::path::Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// SUP-30: a token that somebody else put into the file is nobody's right, and a file that others can read is refused.
#[test]
fn planted_token_file_gives_no_right() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    set_mode(&data, 0o777);
    std::fs::write(data.join("admin.token"), "planted").unwrap();
    set_mode(&data.join("admin.token"), 0o666);
    std::fs::write(folder.path().join("treewarden.yaml"), "").unwrap();
    let output = Node::refused(folder.path(), &Options::default());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("admin.token"),
        "{output:?}"
    );
    assert_eq!(
        std::fs::metadata(&data).unwrap().permissions().mode() & 0o777,
        0o711
    );
}

/// A token of the right mode that the node did not make stays unknown to it.
#[test]
fn foreign_token_is_not_adopted() {
    let mut node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    assert_eq!(node.terminate(), 0);
    let file = node.data().join("admin.token");
    let real = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "planted\n").unwrap();
    node.start_again();
    assert_eq!(node.get("/api/console/entries").0, 401);
    assert_eq!(node.terminate(), 0);
    std::fs::write(&file, real).unwrap();
    node.start_again();
    assert_eq!(node.get("/api/console/entries").0, 200);
}
