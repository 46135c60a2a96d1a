//! What the services answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::faults::Moment;
use crate::state::Plugin;
use crate::{acts, wire};

/// Methods of every service.
pub(crate) const NAMES: &[&str] = &[
    "ping", "echo", "sleep", "fail", "crash", "exit", "relay", "identity", "env", "fds", "proc",
    "cwd", "blob", "set", "clear",
];

/// Handles one `service.call`.
pub(crate) fn call(plugin: &Arc<Plugin>, id: &Value, params: &Value) {
    let method = params["method"].as_str().unwrap_or_default();
    plugin.trace.event(
        "call",
        &json!({ "id": id, "service": params["service"], "method": method }),
    );
    if plugin.faults.on("crash-on-call") {
        plugin.leave(70);
    }
    if plugin.faults.on("never-answer") && method != "clear" {
        return;
    }
    if let Some(late) = plugin.faults.number::<u64>("late-answer") {
        let deadline = params["timeout_ms"].as_u64().unwrap_or(0);
        return detached(plugin, id, params, Duration::from_millis(deadline + late));
    }
    match method {
        "sleep" | "relay" => detached(plugin, id, params, Duration::ZERO),
        _ => wire::answer(plugin, id, run(plugin, id, method, &params["params"])),
    }
    // An act may end the plugin or break its stdout: the answer goes first.
    if method == "set" {
        let (fault, value) = fault_of(&params["params"]);
        if plugin.faults.set(&fault, &value) == Ok(Moment::Act) {
            acts::perform(plugin, &fault, &value);
        }
    }
}

fn detached(plugin: &Arc<Plugin>, id: &Value, params: &Value, delay: Duration) {
    let (plugin, id, params) = (Arc::clone(plugin), id.clone(), params.clone());
    std::thread::spawn(move || {
        std::thread::sleep(delay);
        let method = params["method"].as_str().unwrap_or_default();
        let outcome = run(&plugin, &id, method, &params["params"]);
        wire::answer(&plugin, &id, outcome);
    });
}

fn fault_of(params: &Value) -> (String, String) {
    let value = match &params["value"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (
        params["fault"].as_str().unwrap_or_default().to_owned(),
        value,
    )
}

fn run(plugin: &Plugin, id: &Value, method: &str, params: &Value) -> Result<Value, Value> {
    let invalid = |message: String| wire::error(-32602, "invalid", &message);
    match method {
        "ping" => Ok(json!("pong")),
        "echo" => Ok(params.clone()),
        "sleep" => sleep(plugin, id, params["ms"].as_u64().unwrap_or(0)),
        "fail" => Err(wire::error(
            -32000,
            params["kind"].as_str().unwrap_or("application"),
            "failed as asked",
        )),
        "crash" => std::process::abort(),
        "exit" => plugin.leave(i32::try_from(params["code"].as_i64().unwrap_or(0)).unwrap_or(1)),
        "relay" => wire::request(plugin, "service.call", params),
        "identity" => Ok(identity(plugin)),
        "env" => Ok(std::env::vars()
            .map(|(name, value)| (name, Value::from(value)))
            .collect()),
        "fds" => Ok(descriptors()),
        "proc" => {
            let file = params["file"].as_str().unwrap_or("status");
            let text = std::fs::read_to_string(format!("/proc/self/{file}"))
                .map_err(|error| invalid(error.to_string()))?;
            Ok(json!({ "now": text, "status_at_exec": plugin.status_at_exec }))
        }
        "cwd" => Ok(json!(
            std::env::current_dir()
                .map(|path| path.display().to_string())
                .unwrap_or_default()
        )),
        "blob" => Ok(json!("x".repeat(
            usize::try_from(params["bytes"].as_u64().unwrap_or(0)).unwrap_or(0)
        ))),
        "set" => {
            let (fault, value) = fault_of(params);
            plugin
                .faults
                .set(&fault, &value)
                .map(|_| Value::Null)
                .map_err(invalid)
        }
        "clear" => {
            plugin
                .faults
                .clear(params["fault"].as_str().unwrap_or_default());
            Ok(Value::Null)
        }
        other => Err(json!({ "code": -32601, "message": format!("no method {other}") })),
    }
}

fn sleep(plugin: &Plugin, id: &Value, ms: u64) -> Result<Value, Value> {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        if !plugin.faults.on("stubborn")
            && plugin.cancelled.lock().unwrap().contains(&id.to_string())
        {
            return Err(wire::error(-32000, "deadline", "cancelled"));
        }
        std::thread::sleep(
            Duration::from_millis(2).min(until.saturating_duration_since(Instant::now())),
        );
    }
    Ok(json!({ "slept_ms": ms }))
}

fn identity(plugin: &Plugin) -> Value {
    let initialize = plugin.initialize.lock().unwrap();
    json!({
        "id": initialize["instance"]["id"],
        "generation": initialize["instance"]["generation"],
        "launch": initialize["launch"],
        "pid": std::process::id(),
        "name": plugin.name,
        "uses": plugin.uses,
        "mark": std::env::var("TREEWARDEN_LAUNCH").ok(),
        "initialize": *initialize,
    })
}

/// Own open descriptors with what they lead to, the one used for listing left out.
fn descriptors() -> Value {
    let listing = std::fs::read_dir("/proc/self/fd").expect("/proc is mounted");
    let names: Vec<_> = listing.flatten().map(|entry| entry.path()).collect();
    let target = |path: &std::path::PathBuf| {
        Some((
            path.file_name()?.to_str()?.to_owned(),
            std::fs::read_link(path).ok()?,
        ))
    };
    names
        .iter()
        .filter_map(target)
        .map(|(number, path)| (number, Value::from(path.display().to_string())))
        .collect()
}
