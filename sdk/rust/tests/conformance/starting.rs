//! `initialize`, identity and config.

use serde_json::json;

use crate::driver::{Target, error_of};

crate::cases! {
    initialize_offers_what_was_declared
    another_protocol_is_refused
    second_initialize_is_refused
    start_can_be_refused_with_a_reason
    identity_and_config_are_read
    run_by_hand_reads_local_and_zero
}

fn initialize_offers_what_was_declared(target: &Target) {
    let mut plugin = target.start();
    let answer = plugin.initialize();
    let methods = answer["result"]["provides"]["conformance"]
        .as_array()
        .unwrap();
    assert!(
        methods.contains(&json!("ping")) && methods.contains(&json!("relay")),
        "{answer}"
    );
    let mut handlers: Vec<_> = answer["result"]["handlers"].as_array().unwrap().clone();
    handlers.sort_by_key(ToString::to_string);
    assert_eq!(handlers, [json!("apply"), json!("veto")]);
}

fn another_protocol_is_refused(target: &Target) {
    let mut plugin = target.start();
    let answer = plugin.ask(
        "initialize",
        json!({"protocol": "treewarden.plugin/9", "instance": {"id": "a", "generation": 1}}),
    );
    assert_eq!(error_of(&answer).0, "invalid");
}

fn second_initialize_is_refused(target: &Target) {
    let mut plugin = target.start().ready();
    assert_eq!(error_of(&plugin.initialize()).0, "invalid");
    assert_eq!(plugin.call("instance", json!(null))["generation"], 7);
}

fn start_can_be_refused_with_a_reason(target: &Target) {
    let mut plugin = target.start();
    let (kind, message) = error_of(&plugin.initialize_with(json!({"refuse": "no colour"})));
    assert_eq!(kind, "invalid");
    assert!(message.contains("no colour"), "{message}");
}

/// SUP-14
fn identity_and_config_are_read(target: &Target) {
    let mut plugin = target.start();
    plugin.initialize_with(json!({"any": ["json", 1]}));
    assert_eq!(
        plugin.call("instance", json!(null)),
        json!({"id": "writer-eu", "generation": 7})
    );
    assert_eq!(
        plugin.call("config", json!(null)),
        json!({"any": ["json", 1]})
    );
    assert_eq!(
        plugin.call("early", json!(null)),
        json!({"id": "local", "generation": 0})
    );
}

/// SUP-14
fn run_by_hand_reads_local_and_zero(target: &Target) {
    let mut plugin = target.start();
    assert_eq!(
        plugin.call("instance", json!(null)),
        json!({"id": "local", "generation": 0})
    );
    assert_eq!(plugin.call("config", json!(null)), json!(null));
    assert_eq!(
        plugin.call("started", json!(null)),
        true,
        "the first call is the start"
    );
    assert!(plugin.end().0.success());
}
