//! From `initialize` to the exit.

use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::state::Plugin;
use crate::{acts, methods, wire};

/// Reads stdin to its end and does what it says; does not return.
pub(crate) fn run(plugin: &Arc<Plugin>) -> ! {
    let mut input = BufReader::new(std::io::stdin().lock());
    let mut line = Vec::new();
    loop {
        if plugin.faults.on("no-read") && !plugin.initialize.lock().unwrap().is_null() {
            sleep_for_ever();
        }
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if let Ok(message) = serde_json::from_slice::<Value>(&line) {
            handle(plugin, &message);
        }
    }
    plugin.trace.event("stdin_eof", &Value::Null);
    if plugin.faults.on("ignore-eof") || plugin.faults.on("ignore-shutdown") {
        sleep_for_ever();
    }
    if let Err(error) = finalize(plugin) {
        plugin.trace.event("finalizer_failed", &error);
    }
    if let Some(linger) = plugin.faults.number("linger-ms") {
        std::thread::sleep(Duration::from_millis(linger));
    }
    plugin.leave(plugin.faults.number("exit-code").unwrap_or(0))
}

/// What a process does that ignores everything it can.
pub(crate) fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn handle(plugin: &Arc<Plugin>, message: &Value) {
    let id = &message["id"];
    let params = &message["params"];
    match message["method"].as_str() {
        Some("initialize") => initialize(plugin, id, params),
        Some("service.call") => methods::call(plugin, id, params),
        Some("shutdown") => shutdown(plugin, id),
        Some("$/cancel") => {
            plugin.trace.event("cancel", params);
            plugin
                .cancelled
                .lock()
                .unwrap()
                .insert(params["id"].to_string());
        }
        Some(_) if !id.is_null() => wire::answer(
            plugin,
            id,
            Err(json!({ "code": -32601, "message": "no such method" })),
        ),
        Some(_) => {}
        None => {
            let waiting = id
                .as_u64()
                .and_then(|id| plugin.pending.lock().unwrap().remove(&id));
            if let Some(sender) = waiting {
                let _ = sender.send(message.clone());
            }
        }
    }
}

fn initialize(plugin: &Arc<Plugin>, id: &Value, params: &Value) {
    plugin.trace.event("initialize", params);
    plugin.initialize.lock().unwrap().clone_from(params);
    if let Some(code) = plugin.faults.number("exit-in-handshake") {
        plugin.leave(code);
    }
    if plugin.faults.on("never-handshake") {
        return;
    }
    if let Some(late) = plugin.faults.number("handshake-ms") {
        std::thread::sleep(Duration::from_millis(late));
    }
    if plugin.faults.on("refuse-handshake") {
        return wire::answer(
            plugin,
            id,
            Err(wire::error(
                -32000,
                "application",
                "this plugin does not want to run",
            )),
        );
    }
    let provided: &[String] = if plugin.faults.on("omit-services") {
        &[]
    } else {
        &plugin.provides
    };
    let services: serde_json::Map<String, Value> = provided
        .iter()
        .map(|service| (service.clone(), json!(methods::NAMES)))
        .collect();
    // Before the answer: what the node does upon it must not be traced earlier.
    plugin.trace.event("initialized", &Value::Null);
    wire::answer(
        plugin,
        id,
        Ok(json!({ "provides": services, "handlers": [] })),
    );
    for (fault, value) in plugin.faults.acts() {
        acts::perform(plugin, &fault, &value);
    }
}

fn shutdown(plugin: &Arc<Plugin>, id: &Value) {
    plugin.trace.event("shutdown", &Value::Null);
    if plugin.faults.on("ignore-shutdown") {
        return;
    }
    // On a thread of its own: a finalizer may call the host, and somebody must read the answer.
    let (plugin, id) = (Arc::clone(plugin), id.clone());
    std::thread::spawn(move || wire::answer(&plugin, &id, finalize(&plugin).map(|()| Value::Null)));
}

/// Runs the finalizers, once, or waits for whoever runs them.
fn finalize(plugin: &Plugin) -> Result<(), Value> {
    plugin
        .finalized
        .get_or_init(|| run_finalizers(plugin))
        .clone()
}

fn run_finalizers(plugin: &Plugin) -> Result<(), Value> {
    plugin.trace.event("finalizer", &Value::Null);
    if let Some(target) = plugin.faults.text("finalizer-call") {
        let (service, method) = target
            .split_once('.')
            .expect("finalizer-call takes service.method");
        let outcome = wire::request(
            plugin,
            "service.call",
            &json!({ "service": service, "method": method, "params": {} }),
        );
        plugin.trace.event(
            "finalizer_call",
            &json!({ "ok": outcome.is_ok(), "answer": outcome.unwrap_or_else(|error| error) }),
        );
    }
    if let Some(long) = plugin.faults.number("finalizer-ms") {
        std::thread::sleep(Duration::from_millis(long));
    }
    if let Some(path) = plugin.faults.text("finalizer-file") {
        std::fs::write(path, "finalized\n").expect("the finalizer's file can be written");
    }
    if plugin.faults.on("finalizer-fail") {
        return Err(wire::error(
            -32000,
            "application",
            "finalizer flush-cache failed: disk on fire",
        ));
    }
    plugin.trace.event("finalized", &Value::Null);
    Ok(())
}
