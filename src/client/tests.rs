//! What the commands write, from fixed answers: no node is needed.

use serde_json::{Value, json};
use treewarden_model::time::WallTime;

use super::entry::written;
use super::error::{ClientError, Problem};
use super::view::{Entry, LogLine, Node, Reload};
use super::{reload, status};

/// 2026-01-31T10:20:30Z
const NOW: WallTime = WallTime(1_769_854_830_000);

fn stop_result(outcome: &str) -> Value {
    let unconfirmed = outcome == "termination_unconfirmed";
    let kind = if unconfirmed {
        "termination_unconfirmed"
    } else {
        "local_termination_timeout"
    };
    let causes = json!([{ "kind": kind, "message": "the process was still there after 1 second: a timer, socket or other handle is probably left" }]);
    json!({
        "entry": "ledger", "instance": { "id": "11111111-2222-3333-4444-555555555555", "generation": 1 }, "launch": 31,
        "outcome": outcome, "cause": "requested",
        "evidence": if unconfirmed { Value::Null } else { json!("tree") },
        "exit_status": match outcome { "exited" => json!({ "code": 0, "signal": null }), "killed" => json!({ "code": null, "signal": 9 }), _ => Value::Null },
        "duration_ms": if outcome == "exited" { 41 } else { 12_345 },
        "cleanup_error": if outcome == "exited" { Value::Null } else { json!({ "message": "stopping ledger was not clean", "causes": causes }) },
    })
}

fn running() -> Value {
    json!({
        "name": "ledger", "run": "local", "source": "file", "desired": "running", "state": "running", "reason": "Launch 31 runs.", "hint": null,
        "instance": { "id": "11111111-2222-3333-4444-555555555555", "generation": 1 }, "launch": 31, "pid": 4711,
        "since": "2026-01-31T10:18:25.000Z", "restarts": 2, "provides": ["ledger", "audit"], "uses": [], "lease": null, "isolation": "none",
        "limits": { "memory": { "limit": 268_435_456, "enforced_by": "rlimit" }, "processes": null, "open_files": null, "cpu": null },
        "last_stop": null, "last_error": null, "next_retry_at": null, "last_lines": ["the till is open"], "command": ["/bin/ledger", "--verbose"],
    })
}

fn in_trouble() -> Value {
    let mut last_stop = stop_result("killed");
    last_stop["entry"] = json!("writer");
    last_stop["cause"] = json!("crashed");
    last_stop["ended_at"] = json!("2026-01-31T10:20:20.000Z");
    json!({
        "name": "writer", "run": "local", "source": "api", "desired": "running", "state": "backing_off",
        "reason": "It is started again in 12500 ms: launch 31 ended (crashed, signal 9).",
        "hint": "it was killed in 3 of its last 5 stops: raise shutdown_timeout",
        "instance": null, "launch": null, "pid": null, "since": "2026-01-31T10:20:20.000Z", "restarts": 7, "provides": [], "uses": ["ledger"],
        "lease": null, "isolation": "none", "limits": {}, "last_stop": last_stop, "last_error": "the handshake was not answered",
        "next_retry_at": "2026-01-31T10:20:42.500Z", "last_lines": ["boom", "\u{1b}[2Jescape", ""], "command": ["writer"],
    })
}

fn entries(values: &[Value]) -> Vec<Entry> {
    serde_json::from_value(json!(values)).unwrap()
}

fn entry(value: Value) -> Entry {
    serde_json::from_value(value).unwrap()
}

fn told(verb: written::Verb, answer: &Value) -> written::Told {
    written::verb(verb, &answer.to_string()).unwrap()
}

#[test]
fn status_is_one_screen() {
    let node = json!({
        "id": "00000000-0000-0000-0000-000000000001", "version": "0.1.0", "uptime_ms": 7_384_000, "ready": true, "not_ready_reason": null,
        "warnings": ["isolation: none: plugins run as the node's user"],
    });
    let node: Node = serde_json::from_value(node).unwrap();
    insta::assert_snapshot!(status::text(
        Some(&node),
        &entries(&[running(), in_trouble()]),
        NOW
    ));
}

#[test]
fn status_without_entries_or_readiness() {
    let node: Node = serde_json::from_value(json!({ "id": "1", "version": "0.1.0", "uptime_ms": 5, "ready": false, "not_ready_reason": "the store failed" })).unwrap();
    insta::assert_snapshot!(status::text(Some(&node), &[], NOW), @r"
    node 1, version 0.1.0, up 0s, not ready: the store failed

    no entries
    ");
}

#[test]
fn list_is_a_table() {
    insta::assert_snapshot!(written::list(&entries(&[running(), in_trouble()]), NOW));
    assert_eq!(written::list(&[], NOW), "");
}

#[test]
fn one_entry_with_all_that_is_known() {
    insta::assert_snapshot!("show_running", written::show(&entry(running()), NOW));
    insta::assert_snapshot!("show_in_trouble", written::show(&entry(in_trouble()), NOW));
}

/// SUP-10 SUP-11
#[test]
fn stops_are_told_in_a_sentence_with_their_causes() {
    use written::Verb::Stop;
    let clean = told(Stop, &stop_result("exited"));
    assert_eq!(
        (clean.data.as_str(), clean.trouble),
        (
            "ledger: exited (exit code 0) in 41 ms, evidence tree\n",
            None
        )
    );
    let killed = told(Stop, &stop_result("killed"));
    insta::assert_snapshot!(killed.data, @r"
    ledger: killed (signal 9, SIGKILL) in 12.3 s, evidence tree
      local_termination_timeout: the process was still there after 1 second: a timer, socket or other handle is probably left
    ");
    assert_eq!(killed.trouble, None, "what is confirmed is done");
    let unconfirmed = told(Stop, &stop_result("termination_unconfirmed"));
    insta::assert_snapshot!(unconfirmed.data, @r"
    ledger: not confirmed gone after 12.3 s: launch 31 may still be running
      termination_unconfirmed: the process was still there after 1 second: a timer, socket or other handle is probably left
    ");
    assert!(
        unconfirmed
            .trouble
            .unwrap()
            .contains("until its exit is confirmed")
    );
    let nothing = told(
        Stop,
        &json!({ "entry": "ledger", "instance": null, "launch": null, "outcome": null }),
    );
    assert_eq!(
        (nothing.data.as_str(), nothing.trouble),
        ("ledger: nothing ran\n", None)
    );
}

#[test]
fn unknown_exit_status_is_said_to_be_unknown() {
    let mut stop = stop_result("exited");
    stop["exit_status"] = Value::Null;
    assert!(
        told(written::Verb::Kill, &stop)
            .data
            .contains("(exit status not known)")
    );
}

#[test]
fn restart_that_does_not_start_is_not_done() {
    let mut answer = stop_result("exited");
    answer["started"] = json!(true);
    answer["start_error"] = Value::Null;
    let done = told(written::Verb::Restart, &answer);
    assert_eq!(
        (done.data.as_str(), done.trouble),
        (
            "ledger: exited (exit code 0) in 41 ms, evidence tree\nledger: started\n",
            None
        )
    );
    answer["start_error"] = json!("no such file");
    assert_eq!(
        told(written::Verb::Restart, &answer).trouble.as_deref(),
        Some("ledger was not started: no such file")
    );
}

#[test]
fn start_and_reset_tell_the_state() {
    assert_eq!(
        told(written::Verb::Start, &running()).data,
        "ledger: running (launch 31, pid 4711)\n"
    );
    assert_eq!(
        told(written::Verb::Reset, &in_trouble()).data,
        "writer: backing_off\n"
    );
}

#[test]
fn answers_of_another_kind_are_no_panic() {
    for bad in ["", "[]", "{}", "5", "{\"entry\":5}", "null"] {
        for verb in [written::Verb::Start, written::Verb::Stop] {
            written::verb(verb, bad).unwrap_err();
        }
    }
}

#[test]
fn logs_show_control_characters_instead_of_obeying_them() {
    let lines: Vec<LogLine> = serde_json::from_value(json!([
        { "time": "2026-01-31T10:20:30.123Z", "stream": "stderr", "text": "red \u{1b}[31malert\u{7}\ttab" },
        { "time": "2026-01-31T10:20:30.124Z", "stream": "log", "text": "" },
    ]))
    .unwrap();
    let expected = "2026-01-31T10:20:30.123Z stderr red \\u{1b}[31malert\\u{7}    tab\n2026-01-31T10:20:30.124Z log    \n";
    assert_eq!(written::logs(&lines), expected);
}

#[test]
fn reload_tells_what_was_done() {
    let report: Reload = serde_json::from_value(json!({ "started": ["new"], "stopped": [], "replaced": ["changed"], "restarted": ["user"], "unchanged": ["same", "also"] })).unwrap();
    insta::assert_snapshot!(reload::text(&report), @r"
    started    new
    replaced   changed
    restarted  user
    unchanged  same, also
    ");
    assert_eq!(
        reload::text(&Reload::default()),
        "no entries are declared\n"
    );
}

#[test]
fn prefix_must_be_unique() {
    let names = || {
        ["ledger", "ledger-eu", "writer"]
            .map(str::to_owned)
            .into_iter()
    };
    assert_eq!(
        written::meant("w", names()).unwrap().as_deref(),
        Some("writer")
    );
    assert_eq!(written::meant("x", names()).unwrap(), None);
    let error = written::meant("led", names()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"led\" is short for more than one entry: ledger, ledger-eu"
    );
}

#[test]
fn errors_say_what_to_do() {
    let problem = |code: &str, detail: &str| {
        let problem = Problem {
            code: code.to_owned(),
            detail: detail.to_owned(),
            request_id: Some("ab-1".to_owned()),
            operation: None,
        };
        ClientError::Problem(Box::new(problem)).to_string()
    };
    let refused = ClientError::Unreachable {
        url: "http://127.0.0.1:9".to_owned(),
        why: "Connection refused".to_owned(),
    };
    let missing = ClientError::TokenFile {
        path: "/x/token".into(),
        error: std::io::ErrorKind::NotFound.into(),
    };
    let all = [
        refused.to_string(),
        missing.to_string(),
        problem("entry_not_found", "There is no entry zzz."),
        problem("not_authenticated", "A valid token is needed."),
        problem("internal_error", "It failed.\u{1b}[2J"),
        ClientError::Late(std::time::Duration::from_secs(120)).to_string(),
        ClientError::Url("x".to_owned()).to_string(),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

mod command_line {
    use clap::{CommandFactory as _, Parser as _};

    use crate::cli::{Cli, Command, OutputFormat};

    #[test]
    fn definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_of_the_client_stand_before_or_after_the_command() {
        for line in [
            "treewarden --url http://a:1 -o json entry stop x --timeout 2m",
            "treewarden entry stop x -o json --timeout 2m --url http://a:1",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(
                (cli.client.url.as_str(), cli.client.output),
                ("http://a:1", OutputFormat::Json)
            );
            assert_eq!(
                cli.client.timeout,
                Some(std::time::Duration::from_secs(120))
            );
            assert!(matches!(cli.command, Command::Client(_)));
        }
    }

    #[test]
    fn wrong_usage_ends_with_2() {
        let wrong = [
            "treewarden",
            "treewarden nonsense",
            "treewarden entry",
            "treewarden entry fly",
            "treewarden entry stop",
            "treewarden serve --listen nonsense",
            "treewarden serve --listen :7420",
            "treewarden status -o xml",
            "treewarden status --timeout 5",
            "treewarden status --timeout infinity",
            "treewarden entry call a b",
            "treewarden entry call a b c {",
            "treewarden entry logs a -n 501",
            "treewarden tree --format poem",
            "treewarden keeper",
        ];
        for line in wrong {
            let error = Cli::try_parse_from(line.split(' ')).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn help_is_complete() {
        let mut command = Cli::command();
        command.build();
        insta::assert_snapshot!(command.render_long_help());
    }

    #[test]
    fn every_shell_gets_completions() {
        use clap::ValueEnum as _;
        for shell in clap_complete::Shell::value_variants() {
            let text = String::from_utf8(crate::cli::completions(*shell)).unwrap();
            assert!(
                text.contains("treewarden") && text.contains("reload"),
                "{shell}"
            );
        }
    }
}
