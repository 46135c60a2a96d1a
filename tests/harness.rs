//! The harness itself: what it claims to notice, it notices.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::let_underscore_must_use,
    clippy::print_stderr,
    missing_docs,
    reason = "test code"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use treewarden_kit::{Node, Options, process, wait_for, wait_until};

/// Something that is no node: says it is ready, does what the script says, and stays.
fn false_node(script: &str) -> Node {
    let script = format!("echo treewarden ready on http://127.0.0.1:1\n{script}\nexec sleep 1000");
    let wrapper = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
    Node::with_options(
        &[],
        Options {
            wrapper,
            ..Options::default()
        },
    )
}

/// Runs without the noise of an expected panic.
fn panics(act: impl FnOnce()) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(act));
    std::panic::set_hook(hook);
    outcome.is_err()
}

#[test]
fn process_left_over_fails_the_test_and_is_ended() {
    drop(false_node("true"));
    // With the node's directory as working directory.
    let node = false_node("sleep 999 &");
    let left = wait_for("it is there", Duration::from_secs(5), || {
        node.processes()
            .into_iter()
            .find(|one| one.command == "sleep 999")
    });
    assert!(panics(|| drop(node)));
    wait_until("it is ended", Duration::from_secs(5), || {
        !process::alive(left.pid)
    });
    // Marked by nothing but its limits, once a launch of the same node was seen.
    let mark = (1_u64 << 50) + (77 << 30);
    let node = false_node(&format!(
        "TREEWARDEN_LAUNCH=x/a/1 prlimit --rttime={}:{} sleep 998 & cd /; env -i prlimit --rttime={mark}:{mark} setsid sleep 997 &",
        mark + 1,
        mark + 1
    ));
    let find = |command: &str| {
        node.processes()
            .into_iter()
            .find(|one| one.command == command)
    };
    wait_for("the launch is there", Duration::from_secs(5), || {
        find("sleep 998")
    });
    let left = wait_for("the other is there", Duration::from_secs(5), || {
        find("sleep 997")
    });
    assert!(panics(|| drop(node)));
    wait_until("it is ended", Duration::from_secs(5), || {
        !process::alive(left.pid)
    });
}

#[test]
fn node_that_ends_or_says_nonsense_is_not_ready() {
    for script in ["exit 1", "echo hello; exec sleep 1000"] {
        let wrapper = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        assert!(panics(|| drop(Node::with_options(
            &[],
            Options {
                wrapper,
                ..Options::default()
            }
        ))));
    }
}
