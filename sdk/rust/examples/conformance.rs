//! The plugin of the conformance tests: every feature once, nothing useful. Its twin is `sdk/python/tests/conformance.py`.
#![allow(clippy::print_stdout, clippy::panic, reason = "misbehaving is its job")]

use std::env;
use std::fs::OpenOptions;
use std::io::{Read, Write, stdin};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use treewarden_sdk::protocol::event::{OwnedOperation, Upsert};
use treewarden_sdk::protocol::hook::ModelInput;
use treewarden_sdk::{
    Call, ErrorKind, EventOutcome, Failure, HookOutcome, Plugin, Service, Shutdown,
};

#[derive(Deserialize)]
struct Relay {
    service: String,
    method: String,
    params: Value,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Row {
    collection_code: String,
    key: Value,
}

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

fn main() -> ExitCode {
    let mut plugin = Plugin::new("conformance");
    // Before anything is known: outside any node.
    let early = plugin.host().instance();
    let started = Arc::new(AtomicBool::new(false));
    let at_start = Arc::clone(&started);
    plugin.on_start(move |host| match host.config::<Value>()?.get("refuse") {
        Some(reason) => Err(Failure::invalid(reason.to_string())),
        None => {
            at_start.store(true, Ordering::Relaxed);
            Ok(())
        }
    });
    let host = plugin.host();
    let mut service = plugin.service("conformance");
    service.inline("started", move |_| Ok(started.load(Ordering::Relaxed)));
    service.inline("early", move |_| Ok(early.clone()));
    service.inline("instance", move |_| Ok(host.instance()));
    plain_methods(&mut service);
    gate_methods(&mut service);
    host_methods(&mut plugin);
    plugin.hook("veto", |hook| {
        let input: ModelInput = hook.input()?;
        Ok(if input.code == "bad" {
            HookOutcome::deny("bad_code")
        } else {
            HookOutcome::proceed()
        })
    });
    plugin.event("apply", |event| {
        let values: Map<String, Value> = event.payload()?;
        let upsert = Upsert {
            collection_code: "rows".to_owned(),
            values,
        };
        Ok(EventOutcome::ApplyOwned(vec![OwnedOperation::Upsert(
            upsert,
        )]))
    });
    for name in ["first", "second"] {
        let host = plugin.host();
        plugin.finalizer(name, move |_: &Shutdown| {
            trace(name)?;
            match env::var("CONFORMANCE_FINALIZER")
                .ok()
                .as_deref()
                .and_then(|what| what.strip_prefix(name))
            {
                Some(":fail") => Err(Failure::application("failed on purpose")),
                Some(":panic") => panic!("panicked on purpose"),
                Some(":print") => {
                    println!("goodbye");
                    trace("printed")
                }
                Some(":call") => {
                    let answer: Value =
                        host.call_service("witness", "note", &json!({ "from": name }))?;
                    trace(&answer.to_string())
                }
                _ => Ok(()),
            }
        });
    }
    plugin.run()
}

fn plain_methods(service: &mut Service<'_>) {
    service
        .inline("ping", |_| Ok("pong"))
        .method("echo", |call| call.params::<Value>())
        .inline("inline_echo", |call| call.params::<Value>())
        .inline("big", |call| Ok("x".repeat(call.params()?)))
        .method("fail", |_| {
            Err::<(), _>(
                Failure::new(ErrorKind::Application, "failed on purpose").with("detail", 7),
            )
        })
        .method("panic", |_| panicking())
        .inline("inline_panic", |_| panicking())
        .inline("remaining", |call| {
            Ok(call.remaining().map(|left| left.as_millis() as u64))
        })
        .method("print", |_| {
            println!("a stray print");
            Ok(())
        })
        .method("read_stdin", |_| {
            let mut bytes = Vec::new();
            Ok(stdin().read_to_end(&mut bytes)?)
        });
}

fn gate_methods(service: &mut Service<'_>) {
    let gate = Arc::new(Gate::default());
    let opener = Arc::clone(&gate);
    service
        .method("hold", move |_| {
            let open = gate.open.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = gate
                .opened
                .wait_timeout_while(open, Duration::from_secs(20), |open| !*open);
            Ok(*waited.unwrap_or_else(PoisonError::into_inner).0)
        })
        .inline("release", move |_| {
            *opener.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
            opener.opened.notify_all();
            Ok(())
        })
        .method("until_cancelled", |call: &Call<'_>| {
            for _ in 0..4000 {
                if call.is_cancelled() {
                    return Ok("cancelled");
                }
                sleep(Duration::from_millis(5));
            }
            Err(Failure::application("never cancelled"))
        });
}

fn host_methods(plugin: &mut Plugin) {
    let host = plugin.host();
    let relay = move |call: &Call<'_>| {
        let Relay {
            service,
            method,
            params,
            timeout_ms,
        } = call.params()?;
        let timeout = Duration::from_millis(timeout_ms.unwrap_or(20_000));
        host.call_service_within::<Value>(timeout, &service, &method, &params)
    };
    let (logger, reader, configured) = (plugin.host(), plugin.host(), plugin.host());
    plugin
        .service("conformance")
        .method("relay", relay.clone())
        .inline("inline_relay", relay)
        .method("config", move |_| configured.config::<Value>())
        .inline("log", move |_| {
            logger.info("hello", &json!({ "n": 1 }));
            Ok(())
        })
        .method("data", move |call| {
            let Row {
                collection_code,
                key,
            } = call.params()?;
            reader.data_get(&collection_code, key)
        });
}

fn panicking() -> Result<(), Failure> {
    panic!("panicked on purpose")
}

/// Notes what happened where the test can read it.
fn trace(what: &str) -> Result<(), Failure> {
    if let Ok(path) = env::var("CONFORMANCE_TRACE") {
        writeln!(
            OpenOptions::new().create(true).append(true).open(path)?,
            "{what}"
        )?;
    }
    Ok(())
}
