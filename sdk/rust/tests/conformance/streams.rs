//! Standard streams.

use std::fs;

use serde_json::json;

use crate::driver::Target;

crate::cases! {
    stray_print_lands_in_the_log
    nothing_else_reads_the_hosts_lines
    dead_log_does_not_cut_finalizers_short
}

/// SUP-29
fn stray_print_lands_in_the_log(target: &Target) {
    let mut plugin = target.start().ready();
    plugin.call("print", json!(null));
    assert_eq!(plugin.call("ping", json!(null)), "pong");
    let (status, log) = plugin.end();
    assert!(status.success());
    assert!(log.contains("a stray print"), "{log}");
}

fn nothing_else_reads_the_hosts_lines(target: &Target) {
    let mut plugin = target.start().ready();
    assert_eq!(plugin.call("read_stdin", json!(null)), 0);
    assert_eq!(plugin.call("ping", json!(null)), "pong");
}

/// SUP-22: the host's death breaks the log too.
fn dead_log_does_not_cut_finalizers_short(target: &Target) {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let path = trace.path().to_str().unwrap();
    let mut plugin = target
        .start_without_log(&[
            ("CONFORMANCE_TRACE", path),
            ("CONFORMANCE_FINALIZER", "second:print"),
        ])
        .ready();
    plugin.close_stdin();
    assert_eq!(plugin.wait().0.code(), Some(0));
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        "second\nprinted\nfirst\n"
    );
}
