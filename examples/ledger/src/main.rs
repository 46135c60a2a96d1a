//! Example plugin: the service `ledger`, a list of lines that only grows.
//!
//! | method | params → result |
//! | --- | --- |
//! | `append` | `{text, writer?}` → `{index}`, on disk before it is answered |
//! | `list` | `{from?, limit?}` → `{entries: [{index, text, writer?}]}`, at most 256 |
//! | `count` | → `{count}` |
//! | `ping` | → `"pong"` |
//!
//! The lines live in `ledger.jsonl` in the working directory, which a replacement inherits: it continues where the last
//! launch ended. Config (optional): `{"greeting": "…"}`, the first line of a new ledger.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;
use treewarden_sdk::{ErrorKind, Failure, Host, Plugin};

mod journal;

use journal::{Entry, Journal};

const FILE: &str = "ledger.jsonl";
const DEFAULT_LIMIT: usize = 50;
const MOST: usize = 256;

#[derive(Default, Deserialize)]
struct Config {
    greeting: Option<String>,
}

#[derive(Deserialize)]
struct Append {
    text: String,
    writer: Option<String>,
}

#[derive(Default, Deserialize)]
struct List {
    from: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Listed {
    entries: Vec<Entry>,
}

/// Opened when the plugin starts, so that a journal that can't be read refuses the start.
#[derive(Clone, Default)]
struct Ledger(Arc<OnceLock<Mutex<Journal>>>);

impl Ledger {
    fn open(&self, host: &Host) -> Result<(), Failure> {
        let config = host.config::<Option<Config>>()?.unwrap_or_default();
        let mut journal = Journal::open(Path::new(FILE))?;
        if let (0, Some(greeting)) = (journal.count(), config.greeting) {
            journal.append(greeting, None)?;
        }
        let instance = host.instance();
        host.info("ledger opened", &json!({ "entries": journal.count(), "instance": instance.id, "generation": instance.generation }));
        _ = self.0.set(Mutex::new(journal));
        Ok(())
    }

    fn lock(&self) -> Result<MutexGuard<'_, Journal>, Failure> {
        let journal = self
            .0
            .get()
            .ok_or_else(|| Failure::new(ErrorKind::Unavailable, "the ledger is not open"))?;
        // A panic leaves the journal whole: what it remembers changes only after the file has.
        Ok(journal.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn main() -> ExitCode {
    let mut plugin = Plugin::new("ledger");
    let ledger = Ledger::default();
    let (opened, appended, listed, counted, closed) = (
        ledger.clone(),
        ledger.clone(),
        ledger.clone(),
        ledger.clone(),
        ledger,
    );
    plugin.on_start(move |host| opened.open(host));
    plugin
        .service("ledger")
        .inline("ping", |_| Ok("pong"))
        .method("append", move |call| {
            let Append { text, writer } = call.params()?;
            let index = appended.lock()?.append(text, writer)?;
            Ok(json!({ "index": index }))
        })
        .method("list", move |call| {
            let List { from, limit } = call.params::<Option<List>>()?.unwrap_or_default();
            let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MOST);
            Ok(Listed {
                entries: listed.lock()?.list(from.unwrap_or(1), limit)?,
            })
        })
        .method("count", move |_| {
            Ok(json!({ "count": counted.lock()?.count() }))
        });
    let host = plugin.host();
    plugin.finalizer("flush", move |_| {
        let Ok(journal) = closed.lock() else {
            return Ok(());
        };
        journal.sync()?;
        host.info("ledger closed", &json!({ "entries": journal.count() }));
        Ok(())
    });
    plugin.run()
}
