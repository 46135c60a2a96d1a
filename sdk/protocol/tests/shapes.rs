//! The shapes of the table of methods, read and written to the letter.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use treewarden_protocol::data::DataRow;
use treewarden_protocol::event::{
    EventDeliver, EventOutcome, ModelDefinitionCommitted, OwnedOperation,
};
use treewarden_protocol::hook::{Decision, HookOutcome, HookRun, Phase};
use treewarden_protocol::lifecycle::CancelParams;
use treewarden_protocol::log::{LogLevel, LogRecord};
use treewarden_protocol::{Generation, Identity, InitializeParams, InitializeResult, Limits};

fn round_trip<T: Serialize + DeserializeOwned>(wire: &Value) -> T {
    let value: T = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(&value).unwrap(), *wire);
    value
}

fn context() -> Value {
    json!({"invocation_id": "i", "workspace_id": "w", "installation_id": "n", "contribution_id": "c", "graph_fingerprint": "g",
        "authority_revision": 3, "generation": 7, "launch": 31, "timeout_ms": 1000, "deadline_unix_ms": 1, "actor_id": null, "traceparent": null})
}

/// SUP-14
#[test]
fn initialize_carries_the_identity() {
    let params: InitializeParams = round_trip(
        &json!({"protocol": "treewarden.plugin/1", "instance": {"id": "writer-eu", "generation": 7},
        "launch": 31, "plugin": {"id": "writer", "version": null}, "config": {"any": ["json"]}, "services": ["ledger"],
        "limits": {"frame_bytes": 1048576, "in_flight": 32}}),
    );
    assert_eq!(params.instance.generation, Generation::new(7));
    let outside = Identity::outside_any_node();
    assert_eq!(
        (outside.id.as_str(), outside.generation.get()),
        ("local", 0)
    );
    let least: InitializeParams = serde_json::from_value(
        json!({"protocol": "p", "instance": {"id": "a", "generation": 1, "new": 1}, "new": {}}),
    )
    .unwrap();
    assert_eq!(
        (least.limits, least.config),
        (Limits::default(), Value::Null)
    );
}

#[test]
fn initialize_result() {
    let result: InitializeResult =
        round_trip(&json!({"provides": {"ledger": ["append"]}, "handlers": ["apply"]}));
    assert_eq!(result.provides["ledger"], ["append"]);
    assert_eq!(
        serde_json::from_value::<InitializeResult>(json!({})).unwrap(),
        InitializeResult::default()
    );
}

#[test]
fn hook_run() {
    let line = json!({"handler": "veto", "point": "model_definitions.create.before", "phase": "before", "context": context(), "input": {"code": "a", "title": "A", "description": null}}).to_string();
    let run: HookRun<'_> = serde_json::from_str(&line).unwrap();
    assert_eq!((run.phase, run.context.timeout_ms), (Phase::Before, 1000));
    let newer: Phase = serde_json::from_value(json!("newer")).unwrap();
    assert_eq!(
        (newer.as_str(), serde_json::to_value(&newer).unwrap()),
        ("newer", json!("newer"))
    );
    assert_eq!(
        round_trip::<HookOutcome>(&json!({"decision": "continue"})).decision,
        Decision::Continue
    );
    assert_eq!(
        round_trip::<HookOutcome>(&json!({"decision": "deny", "classification": "no"})).decision,
        Decision::Deny
    );
}

#[test]
fn event_deliver() {
    let line = json!({"handler": "apply", "context": context(), "delivery": {"event_id": "e", "contract_id": "model_definition.committed",
        "contract_version": "v1", "causation_id": null, "correlation_id": "x", "attempt": 2,
        "payload": {"model_id": "m", "status": "committed", "result_reference": null}}}).to_string();
    let deliver: EventDeliver<'_> = serde_json::from_str(&line).unwrap();
    let payload: ModelDefinitionCommitted =
        serde_json::from_str(deliver.delivery.payload.get()).unwrap();
    assert_eq!(
        (payload.model_id.as_str(), deliver.delivery.attempt),
        ("m", 2)
    );
    assert_eq!(
        serde_json::from_str::<Value>(&serde_json::to_string(&deliver).unwrap()).unwrap(),
        serde_json::from_str::<Value>(&line).unwrap()
    );
}

#[test]
fn event_outcomes() {
    for wire in [
        json!({"outcome": "acknowledged"}),
        json!({"outcome": "publish", "publication": {"contract_id": "a.b", "contract_version": "1", "payload": {"x": 1}}}),
        json!({"outcome": "apply_owned", "operations": [{"upsert": {"collection_code": "c", "values": {"k": "v"}}}]}),
        json!({"outcome": "failed", "classification": "retry"}),
    ] {
        assert!(!matches!(
            round_trip::<EventOutcome>(&wire),
            EventOutcome::Other(_)
        ));
    }
    assert_eq!(
        serde_json::from_value::<EventOutcome>(json!({"outcome": "newer", "x": 1})).unwrap(),
        EventOutcome::Other("newer".to_owned())
    );
    for wire in [
        json!({"outcome": "publish"}),
        json!({"outcome": "apply_owned"}),
        json!({"outcome": "failed"}),
        json!({}),
    ] {
        assert!(serde_json::from_value::<EventOutcome>(wire).is_err());
    }
    let unknown: OwnedOperation = serde_json::from_value(json!({"truncate": {}})).unwrap();
    assert_eq!(unknown, OwnedOperation::Unknown);
    assert!(serde_json::to_value(unknown).is_err());
}

#[test]
fn small_ones() {
    let text = json!({"id": "q"}).to_string();
    let cancel: CancelParams<'_> = serde_json::from_str(&text).unwrap();
    assert_eq!(cancel.id.as_json(), "\"q\"");
    assert!(serde_json::from_str::<CancelParams<'_>>(r#"{"id":[1]}"#).is_err());
    let text = json!({"level": "warn", "message": "late", "fields": {"by_ms": 3}}).to_string();
    let record: LogRecord<'_> = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (record.level, &*record.message, record.fields.unwrap().get()),
        (LogLevel::Warn, "late", r#"{"by_ms":3}"#)
    );
    assert!(
        serde_json::from_value::<Option<DataRow>>(json!(null))
            .unwrap()
            .is_none()
    );
    round_trip::<DataRow>(&json!({"values": {"k": 1}}));
}
