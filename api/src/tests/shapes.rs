//! What is answered, field by field.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use treewarden_actors::answers::{CallError, EntryError, ReloadError, Restarted, Started};
use treewarden_model::outcome::Outcome;

use super::Edge;
use super::fake::{MOMENT, name, set, status, stopped};
use crate::body::time::Moment;
use crate::problem::Code;
use treewarden_model::time::WallTime;

#[tokio::test]
async fn status_of_an_entry() {
    let edge = Edge::new();
    let answer = edge.get("/api/console/entries/ledger").await;
    insta::assert_json_snapshot!(answer.json());
}

#[tokio::test]
async fn node_about_itself() {
    let edge = Edge::new();
    insta::assert_json_snapshot!(edge.get("/api/console/node").await.json());
}

#[tokio::test]
async fn stop_result_is_the_contract() {
    let edge = Edge::new();
    let expected = json!({
        "entry": "ledger", "instance": { "id": "11111111-2222-3333-4444-555555555555", "generation": 1 }, "launch": 31,
        "outcome": "exited", "cause": "requested", "evidence": "tree", "exit_status": { "code": 0, "signal": null },
        "duration_ms": 41, "cleanup_error": null,
    });
    assert_eq!(
        edge.post("/api/console/entries/ledger/stop", "")
            .await
            .json(),
        expected
    );
    let killed = edge
        .post("/api/console/entries/ledger/kill", "")
        .await
        .json();
    assert_eq!(
        killed["cleanup_error"]["causes"],
        json!([{ "kind": "local_termination_timeout", "message": "a timer was left" }])
    );
    assert!(
        killed["cleanup_error"]["message"]
            .as_str()
            .unwrap()
            .contains("a timer was left")
    );
}

#[tokio::test]
async fn stop_of_what_is_stopped_has_no_outcome() {
    let edge = Edge::new();
    set(&edge.node.stop, Ok(None));
    let answer = edge.post("/api/console/entries/ledger/stop", "").await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    let object = body.as_object().unwrap();
    assert_eq!(object["entry"], "ledger");
    assert!(
        object
            .iter()
            .all(|(key, value)| key == "entry" || value.is_null()),
        "{body:#}"
    );
    assert_eq!(object.len(), 9);
}

/// SUP-11
#[tokio::test]
async fn unconfirmed_stop_is_answered_as_such() {
    let edge = Edge::new();
    set(
        &edge.node.stop,
        Ok(Some(stopped(Outcome::TerminationUnconfirmed))),
    );
    let answer = edge.post("/api/console/entries/ledger/stop", "").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["outcome"]),
        (200, &json!("termination_unconfirmed"))
    );
    assert_eq!(
        (&answer.json()["evidence"], &answer.json()["exit_status"]),
        (&Value::Null, &Value::Null)
    );
}

/// SUP-12
#[tokio::test]
async fn refused_start_names_what_may_still_run() {
    let edge = Edge::new();
    let error = || EntryError::Unconfirmed(Box::new(stopped(Outcome::TerminationUnconfirmed)));
    set(&edge.node.start, Err(error()));
    set(&edge.node.restart, Err(error()));
    for verb in ["start", "restart"] {
        let answer = edge
            .post(&format!("/api/console/entries/ledger/{verb}"), "")
            .await;
        assert_eq!(
            answer.problem(),
            (409, "termination_unconfirmed".to_owned())
        );
        let body = answer.json();
        assert_eq!(
            body["instance"],
            json!({ "id": "11111111-2222-3333-4444-555555555555", "generation": 1 })
        );
        assert_eq!((&body["launch"], &body["pid"]), (&json!(31), &json!(4711)));
    }
}

#[tokio::test]
async fn start_answers_200_or_202_with_the_status() {
    let edge = Edge::new();
    let answer = edge.post("/api/console/entries/ledger/start", "").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["state"]),
        (200, &json!("running"))
    );
    set(
        &edge.node.start,
        Ok(Started::Pending(Box::new(status("ledger")))),
    );
    assert_eq!(
        edge.post("/api/console/entries/ledger/start", "")
            .await
            .status,
        202
    );
    set(
        &edge.node.start,
        Err(EntryError::Failed {
            name: name("ledger"),
            why: "exit code 3".to_owned(),
        }),
    );
    let failed = edge.post("/api/console/entries/ledger/start", "").await;
    assert_eq!(failed.problem(), (409, "entry_failed".to_owned()));
    assert!(failed.text().contains("exit code 3"));
}

#[tokio::test]
async fn restart_tells_both_halves() {
    let edge = Edge::new();
    let answer = edge
        .post("/api/console/entries/ledger/restart", "")
        .await
        .json();
    assert_eq!(
        (
            &answer["outcome"],
            &answer["started"],
            &answer["start_error"]
        ),
        (&json!("exited"), &json!(true), &Value::Null)
    );
    set(
        &edge.node.restart,
        Ok(Restarted {
            stop: None,
            started: Err("no such file".to_owned()),
        }),
    );
    let answer = edge.post("/api/console/entries/ledger/restart", "").await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(
        (&body["outcome"], &body["started"], &body["start_error"]),
        (&Value::Null, &json!(false), &json!("no such file"))
    );
}

#[tokio::test]
async fn calls_pass_text_on_as_it_is() {
    let edge = Edge::new();
    let answer = edge.post("/api/console/entries/ledger/call", r#"{"service":"ledger","method":"book","params":{"n":1.50,"a":12345678901234567890123},"timeout":"2 seconds"}"#).await;
    assert_eq!(
        (answer.status.as_u16(), answer.text().as_str()),
        (200, r#"{"result":{"b":1.50,"a":[]}}"#)
    );
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(
        edge.node.asked(),
        [r#"call ledger ledger.book {"n":1.50,"a":12345678901234567890123} Some(2s)"#]
    );
}

/// A plugin reads one message a line.
#[tokio::test]
async fn parameters_reach_the_plugin_on_one_line() {
    let edge = Edge::new();
    for body in [
        "{\"service\":\"s\",\"method\":\"m\",\"params\":{\r\n  \"a\": \"x\\ny\"\n}}",
        "{\n\"service\":\"s\",\"method\":\"m\"}",
    ] {
        assert_eq!(
            edge.post("/api/console/entries/ledger/call", body)
                .await
                .status,
            200
        );
    }
    let asked = edge.node.asked();
    assert!(
        !asked.iter().any(|asked| asked.contains(['\n', '\r'])),
        "{asked:?}"
    );
    assert!(
        asked[0].contains(r#""x\ny""#),
        "what is in strings stays: {asked:?}"
    );
}

#[tokio::test]
async fn failed_calls_have_each_their_code() {
    let edge = Edge::new();
    let plugin = CallError::Plugin {
        code: -32000,
        message: "no such account".to_owned(),
        kind: "application".to_owned(),
        data: Some(json!({ "id": 5 })),
    };
    let unavailable = CallError::Unavailable {
        entry: name("ledger"),
        service: "ledger".to_owned(),
        why: "it is stopped".to_owned(),
    };
    let cases = [
        (plugin, 422, "plugin_error"),
        (
            CallError::Invalid("entry ledger does not provide x".to_owned()),
            422,
            "invalid_request",
        ),
        (unavailable, 503, "service_unavailable"),
        (CallError::ConnectionLost, 502, "connection_lost"),
        (CallError::DeadlineExceeded(2000), 504, "deadline_exceeded"),
        (
            CallError::CapacityExhausted { limit: 32 },
            429,
            "capacity_exhausted",
        ),
        (CallError::StaleGeneration, 409, "stale_generation"),
        (CallError::ShuttingDown, 503, "shutting_down"),
    ];
    for (error, status, code) in cases {
        set(&edge.node.call, Err(error));
        let answer = edge
            .post(
                "/api/console/entries/ledger/call",
                r#"{"service":"ledger","method":"m"}"#,
            )
            .await;
        assert_eq!(answer.problem(), (status, code.to_owned()));
        match code {
            "plugin_error" => {
                let expected = json!({ "code": -32000, "message": "no such account", "kind": "application", "data": { "id": 5 } });
                assert_eq!(answer.json()["error"], expected);
            }
            "capacity_exhausted" => assert_eq!(answer.json()["limit"], 32),
            _ => {}
        }
    }
}

#[tokio::test]
async fn large_results_pass() {
    let edge = Edge::new();
    let text = format!("\"{}\"", "x".repeat(900_000));
    set(
        &edge.node.call,
        Ok(RawValue::from_string(text.clone()).unwrap()),
    );
    let answer = edge
        .post(
            "/api/console/entries/ledger/call",
            r#"{"service":"ledger","method":"m"}"#,
        )
        .await;
    assert_eq!(answer.text(), format!("{{\"result\":{text}}}"));
}

#[tokio::test]
async fn refused_verbs_have_each_their_code() {
    let edge = Edge::new();
    let cases = [
        (EntryError::Removing(name("ledger")), 409, "entry_removing"),
        (EntryError::ShuttingDown, 503, "shutting_down"),
        (
            EntryError::Superseded(name("ledger")),
            409,
            "request_superseded",
        ),
        (
            EntryError::CapacityExhausted {
                name: name("ledger"),
                limit: 256,
            },
            429,
            "capacity_exhausted",
        ),
        (
            EntryError::StoreFailed("disk".to_owned()),
            503,
            "store_failed",
        ),
    ];
    for (error, status, code) in cases {
        set(&edge.node.stop, Err(error));
        assert_eq!(
            edge.post("/api/console/entries/ledger/stop", "")
                .await
                .problem(),
            (status, code.to_owned())
        );
    }
}

#[tokio::test]
async fn lists_come_in_pages_whose_cursors_are_keys() {
    let edge = Edge::new();
    *edge.node.more_entries.lock().unwrap() = 119;
    let mut path = "/api/console/entries".to_owned();
    let (mut names, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let page = edge.get(&path).await.json();
        let rows = page["entries"].as_array().unwrap();
        sizes.push(rows.len());
        names.extend(
            rows.iter()
                .map(|row| row["name"].as_str().unwrap().to_owned()),
        );
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/api/console/entries?cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(sizes, [50, 50, 20]);
    assert_eq!(names.len(), 120);
    assert!(names.is_sorted());
    assert_eq!(
        edge.get("/api/console/entries?limit=120").await.json()["next_cursor"],
        Value::Null,
        "the last page leads nowhere"
    );
}

#[tokio::test]
async fn reload_answers_its_lists_or_why_nothing_changed() {
    let edge = Edge::new();
    let expected = json!({ "started": [], "stopped": [], "replaced": [], "restarted": [], "unchanged": ["ledger"] });
    assert_eq!(
        edge.post("/api/console/reload", "{}").await.json(),
        expected
    );
    set(
        &edge.node.reload,
        Err(ReloadError::Config(vec![
            "treewarden.yaml:3:5: entries.a.colour: unknown key".to_owned(),
        ])),
    );
    let answer = edge.post("/api/console/reload", "{}").await;
    assert_eq!(answer.problem(), (422, "config_invalid".to_owned()));
    assert!(
        answer.json()["problems"][0]
            .as_str()
            .unwrap()
            .contains("colour")
    );
}

#[tokio::test]
async fn logs_are_lines() {
    let edge = Edge::new();
    let expected = json!({ "lines": [{ "time": "2026-01-31T10:20:30.123Z", "stream": "stderr", "text": "the till is open" }] });
    assert_eq!(
        edge.get("/api/console/entries/ledger/logs?tail=5")
            .await
            .json(),
        expected
    );
}

#[test]
fn moments_are_rfc_3339_whatever_the_number() {
    assert_eq!(Moment(MOMENT).to_string(), "2026-01-31T10:20:30.123Z");
    assert_eq!(Moment(WallTime(0)).to_string(), "1970-01-01T00:00:00.000Z");
    assert_eq!(
        Moment(WallTime(u64::MAX)).to_string(),
        "9999-12-31T23:59:59.999Z"
    );
}

#[test]
fn codes_are_words_of_the_contract_with_their_status() {
    let table: Vec<String> = Code::ALL
        .iter()
        .map(|code| {
            format!(
                "{} {} {}",
                code.status().as_u16(),
                code.as_str(),
                code.title()
            )
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}
