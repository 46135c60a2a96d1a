//! The end-to-end bench: prints one table, each figure beside its floor from the same run and on the same cores.
//!
//! `cargo build --release --workspace --bins`, then `cargo run --release -p treewarden-benches [ROW…]`; see `docs/performance.md`.
//! With names of rows (`start crash kill call http memory`) only those are measured.
//!
//! Exit code: 0 every target is met · 1 the bench could not run · 3 a target was missed.

mod clock;
mod cores;
mod floors;
mod node;
mod observer;
mod programs;
mod rows;
mod samples;
mod table;

use std::process::ExitCode;

use table::Row;

/// A target was missed.
const MISSED: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == floors::echo::ROLE)
    {
        return floors::echo::answer();
    }
    match run(&arguments) {
        Ok(rows) => {
            table::print(&rows);
            if rows.iter().all(Row::is_met) {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(MISSED)
            }
        }
        Err(error) => {
            table::say(&format!("the bench could not run: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(wanted: &[String]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, measure) in rows::ALL {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            table::say(&format!("measuring {name} …"));
            rows.extend(measure()?);
        }
    }
    Ok(rows)
}
