//! Calls in both directions.

use serde_json::{Value, json};

use crate::driver::{Target, error_of};

crate::cases! {
    call_is_answered
    answers_may_come_out_of_order
    any_kind_of_id_is_echoed
    cancelled_call_sees_it_and_is_still_answered
    cancel_of_nothing_is_ignored
    deadline_counts_from_receipt
    call_made_in_a_call_does_not_outlast_it
    failures_carry_a_kind_and_the_plugin_lives_on
    unknown_names_are_refused
    hooks_and_events_are_handled
    plugin_calls_services
    plugin_call_times_out
    inline_handler_can_not_wait
    answer_never_asked_for_is_ignored
    data_is_read
    log_is_structured
}

fn call_is_answered(target: &Target) {
    let mut plugin = target.start().ready();
    assert_eq!(plugin.call("ping", json!(null)), "pong");
    assert_eq!(
        plugin.call("echo", json!({"a": [1, 2.5, "ü\n\u{2028}"]})),
        json!({"a": [1, 2.5, "ü\n\u{2028}"]})
    );
    let without_params = plugin.ask(
        "service.call",
        json!({"service": "conformance", "method": "echo", "timeout_ms": 9000}),
    );
    assert_eq!(without_params["result"], Value::Null);
}

fn answers_may_come_out_of_order(target: &Target) {
    let mut plugin = target.start().ready();
    let held: Vec<Value> = (0..8)
        .map(|_| plugin.begin("hold", json!(null), 20_000))
        .collect();
    assert_eq!(
        plugin.call("echo", json!(1)),
        1,
        "a slow call blocks no other"
    );
    assert_eq!(plugin.call("ping", json!(null)), "pong");
    plugin.call("release", json!(null));
    for id in held.iter().rev() {
        assert_eq!(plugin.answer(id)["result"], true);
    }
}

fn any_kind_of_id_is_echoed(target: &Target) {
    let mut plugin = target.start().ready();
    for method in ["ping", "echo"] {
        for id in [
            json!("a \"quoted\" one"),
            json!(9_007_199_254_740_991_u64),
            json!(0),
        ] {
            plugin.send(&json!({"jsonrpc": "2.0", "id": id, "method": "service.call",
                "params": {"service": "conformance", "method": method, "params": "pong", "timeout_ms": 9000}}));
            assert_eq!(plugin.answer(&id)["result"], "pong");
        }
    }
}

fn cancelled_call_sees_it_and_is_still_answered(target: &Target) {
    let mut plugin = target.start().ready();
    let other = plugin.begin("hold", json!(null), 20_000);
    let id = plugin.begin("until_cancelled", json!(null), 120_000);
    assert_eq!(plugin.call("ping", json!(null)), "pong");
    plugin.send(&json!({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": id}}));
    let answer = plugin.answer(&id);
    // A call that had not begun is answered without being run.
    assert!(
        answer["result"] == "cancelled" || error_of(&answer).0 == "deadline",
        "{answer}"
    );
    plugin.call("release", json!(null));
    assert_eq!(plugin.answer(&other)["result"], true);
}

fn cancel_of_nothing_is_ignored(target: &Target) {
    let mut plugin = target.start().ready();
    for params in [
        json!({"id": 4711}),
        json!({"id": null}),
        json!({}),
        json!([1]),
    ] {
        plugin.send(&json!({"jsonrpc": "2.0", "method": "$/cancel", "params": params}));
    }
    assert_eq!(plugin.call("ping", json!(null)), "pong");
}

fn deadline_counts_from_receipt(target: &Target) {
    let mut plugin = target.start().ready();
    let id = plugin.begin("until_cancelled", json!(null), 60);
    let answer = plugin.answer(&id);
    assert!(
        answer["result"] == "cancelled" || error_of(&answer).0 == "deadline",
        "{answer}"
    );
    let id = plugin.begin("remaining", json!(null), 5000);
    let left = plugin.answer(&id)["result"].as_u64().unwrap();
    assert!((1..=5000).contains(&left), "{left}");
    let id = plugin.begin("echo", json!(null), 0);
    assert_eq!(
        error_of(&plugin.answer(&id)).0,
        "deadline",
        "a call past its time is not begun"
    );
}

fn call_made_in_a_call_does_not_outlast_it(target: &Target) {
    let mut plugin = target.start().ready();
    let id = plugin.begin(
        "relay",
        json!({"service": "witness", "method": "note", "params": null, "timeout_ms": 600_000}),
        80,
    );
    plugin.incoming("service.call");
    assert_eq!(error_of(&plugin.answer(&id)).0, "deadline");
}

fn failures_carry_a_kind_and_the_plugin_lives_on(target: &Target) {
    let mut plugin = target.start().ready();
    let id = plugin.begin("fail", json!(null), 9000);
    let answer = plugin.answer(&id);
    assert_eq!(
        error_of(&answer),
        ("application".to_owned(), "failed on purpose".to_owned())
    );
    assert_eq!(answer["error"]["data"]["detail"], 7);
    for method in ["panic", "inline_panic"] {
        let (kind, message) = plugin.call_error(method, json!(null));
        assert_eq!(kind, "application");
        assert!(message.contains("on purpose"), "{message}");
    }
    assert_eq!(plugin.call_error("big", json!("no number")).0, "invalid");
    assert_eq!(plugin.call("ping", json!(null)), "pong");
}

fn unknown_names_are_refused(target: &Target) {
    let mut plugin = target.start().ready();
    let answer = plugin.ask("no.such", json!({}));
    assert_eq!(
        (
            answer["error"]["code"].as_i64(),
            error_of(&answer).0.as_str()
        ),
        (Some(-32601), "invalid")
    );
    plugin.send(&json!({"jsonrpc": "2.0", "method": "no.such", "params": {}}));
    plugin.send(&json!({"jsonrpc": "2.0", "method": "$/newer"}));
    assert_eq!(plugin.call_error("no_such", json!(null)).0, "invalid");
    let answer = plugin.ask(
        "service.call",
        json!({"service": "no-such", "method": "ping", "timeout_ms": 9}),
    );
    assert_eq!(error_of(&answer).0, "unavailable");
    for params in [json!(null), json!([1]), json!({"service": 1})] {
        assert_eq!(error_of(&plugin.ask("service.call", params)).0, "invalid");
    }
    let answer = plugin.ask(
        "hook.run",
        json!({"handler": "apply", "context": {"timeout_ms": 9}}),
    );
    assert_eq!(
        error_of(&answer).0,
        "invalid",
        "an event handler is no hook"
    );
}

fn hooks_and_events_are_handled(target: &Target) {
    let mut plugin = target.start().ready();
    let context = json!({"invocation_id": "i", "workspace_id": "w", "timeout_ms": 9000, "deadline_unix_ms": 0, "generation": 7});
    for (code, outcome) in [
        ("good", json!({"decision": "continue"})),
        (
            "bad",
            json!({"decision": "deny", "classification": "bad_code"}),
        ),
    ] {
        let answer = plugin.ask(
            "hook.run",
            json!({"handler": "veto", "point": "model_definitions.create.before", "phase": "before",
            "context": context, "input": {"code": code, "title": "T"}}),
        );
        assert_eq!(answer["result"], outcome);
    }
    let answer = plugin.ask("event.deliver", json!({"handler": "apply", "context": context, "delivery": {"event_id": "e",
        "contract_id": "c", "contract_version": "1", "causation_id": null, "correlation_id": null, "attempt": 1, "payload": {"k": "v"}}}));
    let operations = json!([{"upsert": {"collection_code": "rows", "values": {"k": "v"}}}]);
    assert_eq!(
        answer["result"],
        json!({"outcome": "apply_owned", "operations": operations})
    );
}

fn plugin_calls_services(target: &Target) {
    let mut plugin = target.start().ready();
    let id = plugin.begin(
        "relay",
        json!({"service": "witness", "method": "note", "params": {"a": 1}}),
        20_000,
    );
    let request = plugin.incoming("service.call");
    assert_eq!(
        request["params"],
        json!({"service": "witness", "method": "note", "params": {"a": 1}})
    );
    plugin.respond(&request, json!({"noted": true}));
    assert_eq!(plugin.answer(&id)["result"], json!({"noted": true}));

    let id = plugin.begin(
        "relay",
        json!({"service": "other", "method": "note", "params": null}),
        20_000,
    );
    let request = plugin.incoming("service.call");
    plugin.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": 1, "message": "not yours", "data": {"kind": "denied"}}}));
    assert_eq!(
        error_of(&plugin.answer(&id)),
        ("denied".to_owned(), "not yours".to_owned())
    );
}

fn plugin_call_times_out(target: &Target) {
    let mut plugin = target.start().ready();
    let id = plugin.begin(
        "relay",
        json!({"service": "witness", "method": "note", "params": null, "timeout_ms": 50}),
        20_000,
    );
    let request = plugin.incoming("service.call");
    assert_eq!(error_of(&plugin.answer(&id)).0, "deadline");
    plugin.respond(&request, json!("too late"));
    assert_eq!(plugin.call("ping", json!(null)), "pong");
}

fn inline_handler_can_not_wait(target: &Target) {
    let mut plugin = target.start().ready();
    let (kind, _) = plugin.call_error(
        "inline_relay",
        json!({"service": "witness", "method": "note", "params": null}),
    );
    assert_eq!(kind, "invalid");
}

fn answer_never_asked_for_is_ignored(target: &Target) {
    let mut plugin = target.start().ready();
    plugin.send(&json!({"jsonrpc": "2.0", "id": 99, "result": 1}));
    plugin.send(&json!({"jsonrpc": "2.0", "id": "x", "result": 1}));
    plugin.send(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "?"}}));
    assert_eq!(plugin.call("ping", json!(null)), "pong");
}

fn data_is_read(target: &Target) {
    let mut plugin = target.start().ready();
    for (result, values) in [
        (json!({"values": {"k": 1}}), json!({"k": 1})),
        (json!(null), json!(null)),
    ] {
        let id = plugin.begin(
            "data",
            json!({"collection_code": "rows", "key": "k"}),
            20_000,
        );
        let request = plugin.incoming("data.get");
        assert_eq!(
            request["params"],
            json!({"collection_code": "rows", "key": "k"})
        );
        plugin.respond(&request, result);
        assert_eq!(plugin.answer(&id)["result"], values);
    }
}

fn log_is_structured(target: &Target) {
    let mut plugin = target.start().ready();
    plugin.call("log", json!(null));
    let record = plugin.incoming("log");
    assert_eq!(
        record["params"],
        json!({"level": "info", "message": "hello", "fields": {"n": 1}})
    );
    assert!(record.get("id").is_none());
}
