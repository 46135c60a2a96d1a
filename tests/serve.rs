//! `treewarden serve`: start, ready line, exit codes, shutdown, and the door of its HTTP interface.

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

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::json;
use treewarden_kit::process::{self, Signal};
use treewarden_kit::{Entry, Node, Options, Stopwatch, config, skipped, wait_for, wait_until};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs `serve` with this configuration in a fresh directory, expecting it to refuse.
fn refused(config: &str) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("treewarden.yaml"), config).unwrap();
    let output = Node::refused(directory.path(), &Options::default());
    assert!(
        output.stdout.is_empty(),
        "no ready line of a node that did not start"
    );
    (
        output.status.code().expect("it ended by itself"),
        stderr(&output),
    )
}

#[test]
fn one_ready_line_names_the_real_address() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    assert_eq!(
        node.output(),
        format!("treewarden ready on {}\n", node.url())
    );
    assert!(
        node.url().starts_with("http://127.0.0.1:") && !node.url().ends_with(":0"),
        "{}",
        node.url()
    );
    assert_eq!(node.get_open("/livez").0, 200);
    assert_eq!(node.get_open("/readyz").0, 200);
}

#[test]
fn no_configuration_file_is_needed() {
    let node = Node::with_options(
        &[],
        Options {
            without_config: true,
            ..Options::default()
        },
    );
    assert_eq!(node.get_open("/readyz").0, 200);
}

#[test]
fn token_file_is_private_and_the_token_is_never_logged() {
    let node = Node::with(&[]);
    let mode = std::fs::metadata(node.data().join("admin.token"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    node.wait_log_line("admin.token");
    let log = node.log_lines().concat();
    assert!(
        !log.contains(&node.token()),
        "the path is logged, the token is not"
    );
}

#[test]
fn token_survives_a_restart() {
    let mut node = Node::with(&[]);
    let token = node.token();
    node.restart();
    assert_eq!(node.token(), token);
    assert_eq!(node.get("/api/console/entries").0, 200);
}

/// SUP-30
#[test]
fn data_directory_is_closed_to_others_but_for_work() {
    let node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&node.data()), 0o711);
    for inside in std::fs::read_dir(node.data()).unwrap().flatten() {
        let name = inside.file_name();
        if name == "work" || name == "packages" {
            continue;
        }
        assert_eq!(
            mode(&inside.path()) & 0o077,
            0,
            "{name:?} is open to others"
        );
    }
}

/// SUP-19
#[test]
fn second_node_on_a_data_directory_fails_at_once_and_says_why() {
    let node = Node::with(&[Entry::new("a")]);
    let before = node.wait_running("a");
    let watch = Stopwatch::start();
    let second = Node::refused(node.directory(), &Options::default());
    assert_eq!(second.status.code(), Some(1));
    assert!(
        watch.elapsed() < Duration::from_secs(3),
        "at once, not after {:?}",
        watch.elapsed()
    );
    let said = stderr(&second);
    assert!(said.contains("in use") || said.contains("locked"), "{said}");
    assert!(
        said.contains(&node.pid().to_string()),
        "it names the holder: {said}"
    );
    assert_eq!(
        node.entry("a")["launch"],
        before["launch"],
        "the first is untouched"
    );
}

/// SUP-19
#[test]
fn corrupt_database_is_refused_and_left_untouched() {
    let mut node = Node::with(&[Entry::new("a")]);
    node.wait_running("a");
    node.stop("a");
    assert_eq!(node.terminate(), 0);
    let database = node.data().join("db").join("db");
    let length = std::fs::metadata(&database)
        .expect("the database file")
        .len();
    std::fs::write(&database, vec![0_u8; usize::try_from(length).unwrap()]).unwrap();
    let output = Node::refused(node.directory(), &Options::default());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("repair"), "it says what helps: {said}");
    assert!(!said.contains("panicked"), "{said}");
    assert!(
        std::fs::read(&database)
            .unwrap()
            .iter()
            .all(|byte| *byte == 0),
        "left untouched"
    );
}

#[test]
fn port_in_use_ends_the_start_with_1() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("treewarden.yaml"), "{}").unwrap();
    let output = Node::refused(
        directory.path(),
        &Options {
            listen: Some(address.clone()),
            ..Options::default()
        },
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&address), "{}", stderr(&output));
}

/// SUP-03 SUP-27
#[test]
fn bad_configuration_ends_the_start_with_1_and_names_the_fault() {
    let service = |provides: &str, uses: &str| {
        let mut entry = Entry::new("a");
        if !provides.is_empty() {
            entry = entry.provides(provides);
        }
        if !uses.is_empty() {
            entry = entry.uses(uses);
        }
        entry
    };
    let cycle = config(
        &[
            Entry::new("a").provides("x").uses("y"),
            Entry::new("b").provides("y").uses("x"),
        ],
        "/dev/null",
    );
    let twice = config(
        &[Entry::new("a").provides("x"), Entry::new("b").provides("x")],
        "/dev/null",
    );
    let unknown = config(&[service("", "nowhere")], "/dev/null");
    let cases: &[(&str, &[&str])] = &[
        ("nodes: {}", &["nodes"]),
        (
            "entries: { a: { run: local, command: [/bin/true], colour: red } }",
            &["colour"],
        ),
        ("entries: { a: { run: local } }", &["command"]),
        (
            "entries: { a: { run: local, command: [/no/such/program] } }",
            &["/no/such/program"],
        ),
        (
            "entries: { A_B: { run: local, command: [/bin/true] } }",
            &["A_B"],
        ),
        (
            "entries: { managed-a: { run: local, command: [/bin/true] } }",
            &["managed-"],
        ),
        (
            "entries: { a: { run: worker, module: a.wasm } }",
            &["worker"],
        ),
        (
            "entries: { a: { run: local, command: [/bin/true], shutdown_timeout: 9 seconds } }",
            &["shutdown_timeout", "API"],
        ),
        (
            "entries: { a: { run: local, command: [/bin/true], retry: { initial: 5 } } }",
            &["initial", "5"],
        ),
        (
            "runners: { r: { connect: 'unix:/tmp/x', lease: infinity } }",
            &["lease", "infinity"],
        ),
        (
            "entries: { a: { run: local, command: [/bin/true], command: [/bin/false] } }",
            &["command"],
        ),
        ("node: { listen: 0.0.0.0:7420 }", &["listen"]),
        ("{ not yaml: [", &["treewarden.yaml"]),
        (&cycle, &["a", "b", "cycle"]),
        (&twice, &["a", "b", "x"]),
        (&unknown, &["a", "nowhere"]),
    ];
    for (text, words) in cases {
        let (code, said) = refused(text);
        assert_eq!(code, 1, "{text}: {said}");
        for word in *words {
            assert!(said.contains(word), "{text}: no {word:?} in {said}");
        }
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn missing_configuration_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let output = Node::refused(directory.path(), &Options::default());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("treewarden.yaml"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn wrong_usage_ends_with_2() {
    for arguments in [
        &["--nonsense"][..],
        &["serve", "--listen", "nonsense"],
        &["entry", "fly"],
        &["nonsense"],
    ] {
        let output = Node::command(arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn client_without_a_node_ends_with_1() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    std::fs::write(&token, "nothing").unwrap();
    let output = Node::command(&[
        "status",
        "--url",
        "http://127.0.0.1:9",
        "--token-file",
        token.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output.stdout.is_empty() && stderr(&output).contains("127.0.0.1:9"),
        "{}",
        stderr(&output)
    );
}

/// SUP-04 SUP-22
#[test]
fn sigterm_and_sigint_stop_consumers_first_and_end_with_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut node = Node::with(&[
            Entry::new("base").provides("base"),
            Entry::new("middle")
                .uses("base")
                .provides("middle")
                .fault("finalizer-call=base.ping"),
            Entry::new("top")
                .uses("middle")
                .fault("finalizer-call=middle.ping"),
        ]);
        node.wait_running("top");
        process::signal(node.pid(), signal);
        assert_eq!(
            node.wait_exit(Duration::from_secs(20)).code(),
            Some(0),
            "{}",
            node.log_tail()
        );
        assert!(node.processes().is_empty(), "{:#?}", node.processes());
        let trace = node.trace();
        for consumer in ["top", "middle"] {
            let call = trace.of(consumer, "finalizer_call")[0];
            assert_eq!(
                call.detail["ok"], true,
                "{consumer}'s finalizer is answered: {:?}",
                call.detail
            );
        }
        assert!(trace.only("top", "exit") < trace.only("middle", "shutdown"));
        assert!(trace.only("middle", "exit") < trace.only("base", "shutdown"));
    }
}

#[test]
fn second_signal_does_not_skip_the_finalizers() {
    let mut node = Node::with(&[Entry::new("a").fault("finalizer-ms=1500")]);
    node.wait_running("a");
    process::signal(node.pid(), Signal::TERM);
    node.wait_event("a", "finalizer", Duration::from_secs(5));
    process::signal(node.pid(), Signal::TERM);
    process::signal(node.pid(), Signal::INT);
    assert_eq!(node.wait_exit(Duration::from_secs(20)).code(), Some(0));
    node.trace().only("a", "finalized");
}

/// The terminal's hang-up means reload, and must not end the node.
#[test]
fn sighup_does_not_end_the_node() {
    let mut node = Node::with(&[]);
    process::signal(node.pid(), Signal::HUP);
    std::thread::sleep(Duration::from_millis(200));
    assert!(node.running());
    assert_eq!(node.get_open("/livez").0, 200);
}

/// SUP-30
#[test]
fn nothing_that_the_node_starts_holds_its_output() {
    let node = Node::with(&[
        Entry::new("a"),
        Entry::new("b").fault("daemon-holding-stdout=/dev/null"),
    ]);
    node.wait_running("b");
    node.wait_event("b", "fault", Duration::from_secs(5));
    let started = node.processes();
    assert!(started.len() >= 3, "keeper and plugins: {started:#?}");
    for process in started {
        for descriptor in std::fs::read_dir(format!("/proc/{}/fd", process.pid))
            .into_iter()
            .flatten()
            .flatten()
        {
            let Ok(target) = std::fs::read_link(descriptor.path()) else {
                continue;
            };
            let held = target.ends_with("node.log") || target.ends_with("node.out");
            assert!(!held, "{} holds {}", process.command, target.display());
        }
    }
}

#[test]
fn door_asks_for_a_token_and_a_known_host() {
    let node = Node::with(&[]);
    let (status, body) = node.get_open("/api/console/entries");
    assert_eq!((status, &body["code"]), (401, &json!("not_authenticated")));
    assert_eq!(body["status"], 401);
    assert!(
        body["title"].is_string() && body["type"].is_string(),
        "{body:#}"
    );
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let wrong = agent
        .get(format!("{}/api/console/entries", node.url()))
        .header("authorization", "Bearer wrong");
    assert_eq!(wrong.call().unwrap().status(), 401);
    let evil = agent
        .get(format!("{}/livez", node.url()))
        .header("host", "evil.example");
    let mut answer = evil.call().unwrap();
    assert_eq!(answer.status(), 421);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    assert!(
        answer
            .body_mut()
            .read_to_string()
            .unwrap()
            .contains("host_not_allowed")
    );
}

#[test]
fn wrong_requests_are_answered_with_problems() {
    let node = Node::with(&[Entry::new("a").provides("a")]);
    node.wait_running("a");
    let call = "/api/console/entries/a/call";
    let code = |answer: (u16, serde_json::Value)| {
        (
            answer.0,
            answer.1["code"].as_str().unwrap_or_default().to_owned(),
        )
    };
    assert_eq!(
        code(node.get("/api/console/nothing")),
        (404, "not_found".into())
    );
    assert_eq!(code(node.get("/nothing")), (404, "not_found".into()));
    assert_eq!(
        code(node.get("/api/console/entries/zzz")),
        (404, "entry_not_found".into())
    );
    assert_eq!(
        code(node.verb("zzz", "stop")),
        (404, "entry_not_found".into())
    );
    assert_eq!(
        code(node.post("/livez", &json!({}))),
        (405, "method_not_allowed".into())
    );
    assert_eq!(
        code(node.post_raw(call, "application/json", b"{")),
        (400, "invalid_json".into())
    );
    assert_eq!(
        code(node.post_raw(call, "text/plain", b"hello")),
        (415, "unsupported_media_type".into())
    );
    let (status, body) = node.post(call, &json!({ "service": 5, "method": "ping" }));
    assert_eq!((status, &body["code"]), (422, &json!("invalid_request")));
    assert!(
        body.to_string().contains("service"),
        "it names the field: {body:#}"
    );
    let (status, body) = node.post(
        call,
        &json!({ "service": "a", "method": "ping", "params": {}, "speed": 1 }),
    );
    assert_eq!((status, &body["code"]), (422, &json!("invalid_request")));
    assert!(
        body.to_string().contains("speed"),
        "it names the field: {body:#}"
    );
    let large = format!(
        "{{\"service\":\"a\",\"method\":\"echo\",\"params\":\"{}\"}}",
        "x".repeat(9 << 20)
    );
    assert_eq!(
        code(node.post_raw(call, "application/json", large.as_bytes())),
        (413, "body_too_large".into())
    );
}

/// As the first process of a container the node inherits orphans that are none of its plugins.
#[test]
fn node_as_first_process_reaps_strange_orphans() {
    let unshare = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"];
    let possible = Command::new("unshare")
        .args(&unshare[1..])
        .arg("true")
        .status();
    if !possible.is_ok_and(|status| status.success()) {
        return skipped(
            "node_as_first_process_reaps_strange_orphans",
            "no process namespace can be made",
        );
    }
    let wrapper = unshare.map(str::to_owned).to_vec();
    let node = Node::with_options(
        &[Entry::new("a")],
        Options {
            wrapper,
            ..Options::default()
        },
    );
    node.wait_running("a");
    let first = process::descendants(node.pid())
        .into_iter()
        .find(|one| one.parent == node.pid())
        .unwrap()
        .pid;
    let mut enter = Command::new("nsenter");
    enter.args([
        "--target",
        &first.to_string(),
        "--pid",
        "--",
        "/bin/sh",
        "-c",
        "sleep 0.6 &",
    ]);
    assert!(enter.status().unwrap().success());
    let adopted = || {
        process::Process::all()
            .into_iter()
            .find(|one| one.parent == first && one.command == "sleep 0.6")
    };
    let orphan = wait_for("the orphan is the node's", Duration::from_secs(5), adopted);
    wait_until("it is reaped", Duration::from_secs(5), || {
        process::Process::read(orphan.pid).is_none()
    });
    assert_eq!(node.stop("a")["outcome"], "exited");
    assert!(process::zombies(first).is_empty());
}
