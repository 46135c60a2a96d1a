//! Lines out: answers and own requests.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::state::Plugin;

/// Writes raw bytes to stdout at once.
pub(crate) fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // The host may have gone: its end of the pipe decides nothing here.
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

fn line(message: &Value) {
    raw(format!("{message}\n").as_bytes());
}

/// Answers a request, twice if that fault is on.
pub(crate) fn answer(plugin: &Plugin, id: &Value, outcome: Result<Value, Value>) {
    let message = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    };
    line(&message);
    if plugin.faults.on("answer-twice") {
        line(&message);
    }
}

/// An error object of the protocol.
pub(crate) fn error(code: i64, kind: &str, message: &str) -> Value {
    json!({ "code": code, "message": message, "data": { "kind": kind } })
}

/// Calls the host and waits for its answer: the result, or the error object.
pub(crate) fn request(plugin: &Plugin, method: &str, params: &Value) -> Result<Value, Value> {
    let id = plugin.next_id.fetch_add(1, Ordering::Relaxed);
    let (sender, receiver) = mpsc::channel();
    plugin.pending.lock().unwrap().insert(id, sender);
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    let answer = receiver.recv_timeout(Duration::from_secs(60));
    plugin.pending.lock().unwrap().remove(&id);
    let answer = answer.map_err(|_| {
        error(
            -32000,
            "deadline",
            "the host did not answer within 60 seconds",
        )
    })?;
    match answer.get("error") {
        Some(error) => Err(error.clone()),
        None => Ok(answer.get("result").cloned().unwrap_or(Value::Null)),
    }
}
