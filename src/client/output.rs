//! The one place of the client that writes: stdout is data, stderr is talk.

use std::io::{self, ErrorKind, Write};

use serde_json::value::RawValue;

use super::error::ClientError;
use super::json;
use crate::cli::OutputFormat;

/// Where answers go, and how they are written.
pub(super) struct Output {
    format: OutputFormat,
    data: Box<dyn Write>,
}

impl Output {
    /// stdout and stderr.
    pub(super) fn standard(format: OutputFormat) -> Self {
        Self {
            format,
            data: Box::new(io::stdout()),
        }
    }

    /// How answers are written.
    pub(super) const fn format(&self) -> OutputFormat {
        self.format
    }

    /// Writes an answer: as JSON if that is asked for, else as `table` tells it.
    ///
    /// # Errors
    /// stdout can't be written.
    pub(super) fn answer(
        &mut self,
        answer: &str,
        table: impl FnOnce() -> String,
    ) -> Result<(), ClientError> {
        match self.format {
            OutputFormat::Table => self.text(&table()),
            OutputFormat::Json => self.line(&json::indented(answer)),
            OutputFormat::Jsonl => self.line(&json::one_line(answer)),
        }
    }

    /// Writes rows: as a JSON array, as a line each, or as `table` tells them.
    ///
    /// # Errors
    /// stdout can't be written.
    pub(super) fn rows(
        &mut self,
        rows: &[Box<RawValue>],
        table: impl FnOnce() -> String,
    ) -> Result<(), ClientError> {
        match self.format {
            OutputFormat::Table => self.text(&table()),
            OutputFormat::Json => self.line(&json::indented(&array(rows))),
            OutputFormat::Jsonl => {
                let lines: String = rows
                    .iter()
                    .map(|row| json::one_line(row.get()) + "\n")
                    .collect();
                self.text(&lines)
            }
        }
    }

    /// Writes a line as it is.
    ///
    /// # Errors
    /// stdout can't be written.
    pub(super) fn line(&mut self, text: &str) -> Result<(), ClientError> {
        self.text(&format!("{text}\n"))
    }

    /// Writes a text as it is.
    ///
    /// # Errors
    /// stdout can't be written.
    pub(super) fn text(&mut self, text: &str) -> Result<(), ClientError> {
        let written = self
            .data
            .write_all(text.as_bytes())
            .and_then(|()| self.data.flush());
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => ClientError::Closed,
            _ => ClientError::Write(error),
        })
    }

    /// Says something to the person at the terminal.
    pub(super) fn talk(&self, text: &str) {
        crate::print::error(text);
    }
}

/// Rows as a JSON array.
pub(super) fn array(rows: &[Box<RawValue>]) -> String {
    let rows: Vec<&str> = rows.iter().map(|row| row.get()).collect();
    format!("[{}]", rows.join(","))
}
