use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::declaration::{EnvValue, Limits};
use crate::retry::{Exponential, RetryPolicy};

fn file(body: &Value) -> Result<Declaration, Vec<String>> {
    EntryDocument::of_file("ledger", body)
        .declaration()
        .map_err(said)
}

fn api(body: &Value) -> Result<Declaration, Vec<String>> {
    EntryDocument::of_api(body).declaration().map_err(said)
}

fn said(problems: Vec<Problem>) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// What is said of `{command: [x], KEY: VALUE}` in a file.
fn refused(key: &str, value: Value) -> String {
    let mut body = json!({ "command": ["x"] });
    body[key] = value;
    file(&body).expect_err(key).join("\n")
}

#[test]
fn whole_entry_is_read() {
    let body = json!({
        "run": "local", "command": ["./ledger", "--verbose"],
        "env": { "COLOR": "blue", "DEPTH": 3, "LOUD": true, "KEY": { "file": "/run/secrets/key" } },
        "config": { "any": ["json", null] }, "provides": ["ledger"], "uses": ["clock"],
        "limits": { "memory": "256 MiB", "processes": 64, "open_files": 1024, "cpu": 0.5 },
        "retry": { "initial": "1 second", "max": "1 minute", "factor": 1.5, "restarts": 3, "within": "5 minutes" },
    });
    let literal = |text: &str| EnvValue::Literal(text.to_owned());
    assert_eq!(
        file(&body),
        Ok(Declaration {
            name: EntryName::parse("ledger").expect("a name"),
            source: Source::File,
            placement: Placement::Local,
            command: vec!["./ledger".to_owned(), "--verbose".to_owned()],
            env: BTreeMap::from([
                ("COLOR".to_owned(), literal("blue")),
                ("DEPTH".to_owned(), literal("3")),
                ("LOUD".to_owned(), literal("true")),
                (
                    "KEY".to_owned(),
                    EnvValue::File(PathBuf::from("/run/secrets/key"))
                ),
            ]),
            config: json!({ "any": ["json", null] }),
            provides: vec![ServiceName::parse("ledger").expect("a name")],
            uses: vec![ServiceName::parse("clock").expect("a name")],
            limits: Limits {
                memory: Some(256 << 20),
                processes: Some(64),
                open_files: Some(1024),
                cpu: Some(500)
            },
            retry: RetryPolicy::Exponential(Exponential {
                initial: Duration::from_secs(1),
                max: Duration::from_secs(60),
                factor_percent: 150,
                restarts: 3,
                within: Duration::from_secs(300),
            }),
            shutdown_timeout: SHUTDOWN_TIMEOUT,
        })
    );
}

/// SUP-28
#[test]
fn what_is_not_written_has_its_default() {
    let read = file(&json!({ "command": ["x"] })).expect("an entry");
    assert_eq!(
        (read.retry, read.config, read.limits),
        (RetryPolicy::default(), json!({}), Limits::default())
    );
    assert_eq!(
        file(&json!({ "command": ["x"], "retry": "none" }))
            .expect("an entry")
            .retry,
        RetryPolicy::None
    );
}

#[test]
fn shutdown_timeout_is_set_through_the_api_only() {
    let body = json!({ "name": "ledger", "command": ["/bin/x"], "shutdown_timeout": "30 seconds" });
    let read = api(&body).expect("an entry");
    assert_eq!(
        (read.source, read.shutdown_timeout),
        (Source::Api, Duration::from_secs(30))
    );
    insta::assert_snapshot!(refused("shutdown_timeout", json!("30 seconds")), @r#"entries.ledger.shutdown_timeout: is fixed at 5 seconds for entries in the file; remove it, or declare the entry through the API, where it can be set"#);
}

#[test]
fn request_has_a_name_and_absolute_paths() {
    let body = json!({ "command": ["./x"], "env": { "K": { "file": "key" } } });
    insta::assert_snapshot!(api(&body).expect_err("refused").join("\n"), @r#"
    name: a name must not be empty
    env.K.file: "key" is a relative path, and a request has no folder it could be relative to; write an absolute one
    command[0]: "./x" is a relative path, and a request has no folder it could be relative to; write an absolute one
    "#);
    assert!(
        api(&json!({ "name": "a", "command": ["x"] })).is_ok(),
        "a bare name is looked up"
    );
    insta::assert_snapshot!(api(&json!([])).expect_err("refused").join("\n"), @r#"
    name: a name must not be empty
    the document: a list can't be used here; write a map of keys and values
    "#);
}

/// SUP-27
#[test]
fn durations_are_refused_by_key_and_value() {
    let values = [
        json!("0 seconds"),
        json!("-1 second"),
        json!("infinity"),
        json!("99999999999999999999 seconds"),
        json!(""),
        json!("15"),
        json!(15),
        json!("soon"),
        json!(null),
        json!(true),
        json!(-1),
    ];
    let said: Vec<String> = values
        .iter()
        .map(|value| refused("retry", json!({ "within": value })))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    entries.ledger.retry.within: "0 seconds" must be longer than zero
    entries.ledger.retry.within: "-1 second" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: "infinity" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: "99999999999999999999 seconds" is no duration: number is too large or cannot be represented without a lack of precision (values below 1ns are not supported); write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: "" is no duration: value was empty; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: "15" is no duration: time unit needed, for example 15sec or 15ms; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: "15" is no duration: time unit needed, for example 15sec or 15ms; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: "soon" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    entries.ledger.retry.within: an empty value can't be used here; write a duration such as "30 seconds"
    entries.ledger.retry.within: true can't be used here; write a duration such as "30 seconds"
    entries.ledger.retry.within: "-1" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
    "#);
}

#[test]
fn what_this_version_does_not_do_is_refused_by_name() {
    let said = [
        refused("run", json!("runner")),
        refused("run", json!("worker")),
        refused("run", json!("moon")),
        refused("run", json!(null)),
        refused("package", json!("acme.ledger@1.0.0")),
        refused("run_as", json!("plugins")),
        refused("runner", json!("edge-1")),
        refused("module", json!("a.wasm")),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    entries.ledger.run: "runner" is not available in this version yet; write run: local
    entries.ledger.run: "worker" is not available in this version yet; write run: local
    entries.ledger.run: "moon" is no placement; write run: local
    entries.ledger.run: an empty value can't be used here; write run: local
    entries.ledger.package: is not available in this version yet; name a command instead
    entries.ledger.run_as: is not available in this version yet; remove it: plugins run as the node's user
    entries.ledger.runner: belongs to run: runner; remove it from an entry with run: local
    entries.ledger.module: belongs to run: worker; remove it from an entry with run: local
    "#);
}

#[test]
fn everything_wrong_is_said_at_once_and_says_the_fix() {
    let body = json!({
        "comand": ["x"], "uses": ["Ledger", 3], "provides": "ledger", "limits": { "memory": 256, "processes": 0, "cpu": -1, "disk": 1 },
        "retry": { "initial": "1 minute", "factor": 0.5, "restarts": 10001 }, "frobnicate": 1,
    });
    insta::assert_snapshot!(file(&body).expect_err("refused").join("\n"), @r#"
    entries.ledger.command: is missing; name the program and its arguments, such as command: [./ledger, --verbose]
    entries.ledger.provides: the text "ledger" can't be used here; write a list of service names such as [ledger]
    entries.ledger.uses[0]: name "Ledger" must consist of a-z, 0-9 and '-' and begin with a letter or digit
    entries.ledger.uses[1]: the number 3 can't be used here; write the name of a service
    entries.ledger.limits.memory: 256 bytes are less than 1 MiB, too little for any process; write the unit, such as "256 MiB"
    entries.ledger.limits.processes: 0 must be a whole number from 1 to 4194304
    entries.ledger.limits.cpu: -1 must be a number of processors from 0.001 to 4096
    entries.ledger.limits.disk: unknown key; known here: memory, processes, open_files, cpu
    entries.ledger.retry.factor: 0.5 must be from 1 (every wait the same) to 1000; 2 doubles each wait
    entries.ledger.retry.restarts: 10001 must be a whole number from 0 to 10000
    entries.ledger.retry.initial: the first wait (1m) is longer than the longest (30s); max is 30 seconds unless set; lower initial or raise max
    entries.ledger.comand: unknown key; did you mean command?
    entries.ledger.frobnicate: unknown key; known here: run, runner, instance, module, package, env, command, config, provides, uses, limits, retry, shutdown_timeout, run_as
    "#);
}

#[test]
fn command_has_a_program_and_texts() {
    let said = [
        json!("./ledger -v"),
        json!([]),
        json!([""]),
        json!(["x", 8080]),
        json!(["x", "a\u{0}b"]),
        json!(null),
        json!(vec!["x"; 257]),
    ]
    .map(|command| refused("command", command));
    insta::assert_snapshot!(said.join("\n"), @r#"
    entries.ledger.command: the text "./ledger -v" can't be used here; write a list such as [./ledger, --verbose]
    entries.ledger.command: is empty; name the program and its arguments, such as [./ledger, --verbose]
    entries.ledger.command[0]: the program is an empty text; name a program
    entries.ledger.command[1]: the number 8080 can't be used here; write a text; put it in quotes
    entries.ledger.command[1]: an argument can't contain NUL; remove it
    entries.ledger.command: an empty value can't be used here; write a list such as [./ledger, --verbose]
    entries.ledger.command: 257 arguments are more than the 256 that are allowed; hand them over in a file
    "#);
}

/// SUP-30
#[test]
fn variables_are_named_well_and_their_values_never_shown() {
    let secret = "hunter2\u{0}";
    let said = refused(
        "env",
        json!({
            "TREEWARDEN_LAUNCH": "x", "A=B": "x", "": "x", "A B": "x", "NUL": secret, "LIST": [secret], "NOTHING": null,
            "EMPTY": {}, "FILE": { "file": "", "mode": 1 },
        }),
    );
    insta::assert_snapshot!(said, @r#"
    entries.ledger.env."": "" is no name of a variable; use printable ASCII without spaces and '='
    entries.ledger.env."A B": "A B" is no name of a variable; use printable ASCII without spaces and '='
    entries.ledger.env."A=B": "A=B" is no name of a variable; use printable ASCII without spaces and '='
    entries.ledger.env.EMPTY.file: is missing; name the file that holds the value, or write the value itself
    entries.ledger.env.FILE.file: an empty text can't be used here; write a path
    entries.ledger.env.FILE.mode: unknown key; known here: file
    entries.ledger.env.LIST: a list can't be used here; write a text, a number, true, false, or { file: PATH }
    entries.ledger.env.NOTHING: an empty value can't be used here; write a text, a number, true, false, or { file: PATH }
    entries.ledger.env.NUL: a variable can't contain NUL; remove it
    entries.ledger.env.TREEWARDEN_LAUNCH: variables beginning with TREEWARDEN_ are the node's own; choose another name
    "#);
    assert!(!said.contains("hunter2"));
    assert!(!refused("env", json!(secret)).contains("hunter2"));
    let read = file(&json!({ "command": ["x"], "env": { "KEY": "hunter2" } })).expect("an entry");
    assert!(!format!("{read:?}").contains("hunter2"));
}

#[test]
fn bounds_hold() {
    let long = "x".repeat(ARGUMENT_BYTES_MAX + 1);
    let quarter = "x".repeat(ARGUMENT_BYTES_MAX);
    let services: Vec<String> = (0..65).map(|number| format!("s{number}")).collect();
    let mut deep = json!(1);
    for _ in 0..=CONFIG_DEPTH_MAX {
        deep = json!([deep]);
    }
    let said = [
        refused("command", json!(["x", long])),
        refused("command", json!(["x", quarter, quarter, quarter])),
        refused("env", json!({ "A": quarter, "B": quarter, "C": quarter })),
        refused("uses", json!(services)),
        refused("config", json!("x".repeat(CONFIG_BYTES_MAX))),
        refused("config", deep),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    entries.ledger.command[1]: 32769 bytes of one argument are more than the 32768 that are allowed; hand it over in a file
    entries.ledger: 98309 bytes of command and env together are more than the 98304 that are allowed; hand the larger ones over in files or in config
    entries.ledger: 98315 bytes of command and env together are more than the 98304 that are allowed; hand the larger ones over in files or in config
    entries.ledger.uses: 65 services are more than the 64 that are allowed; split the entry, or offer fewer services with more methods
    entries.ledger.config: 262146 bytes of JSON are more than the 262144 that are allowed; keep the larger part in a file
    entries.ledger.config: is nested deeper than 64 levels; flatten it
    "#);
    assert!(file(&json!({ "command": ["x"], "config": "x".repeat(CONFIG_BYTES_MAX - 2) })).is_ok());
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![
        prop::sample::select(vec![
            "run",
            "command",
            "env",
            "config",
            "provides",
            "uses",
            "limits",
            "retry",
            "file",
            "memory",
            "initial",
            "max",
            "factor",
            "restarts",
            "within",
            "cpu",
            "name",
            "shutdown_timeout",
            "run_as",
            "package",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["none", "local", "1 second", "5 MiB", "x"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone(), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_is_read_or_refused(body in any_json(), name in any::<String>()) {
        for reading in [EntryDocument::of_file(&name, &body), EntryDocument::of_api(&body)] {
            match reading.declaration() {
                Ok(read) => prop_assert!(!read.command.is_empty() && read.command.iter().all(|text| !text.contains('\0'))),
                Err(problems) => prop_assert!(!problems.is_empty()),
            }
        }
    }
}
