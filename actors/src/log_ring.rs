//! The last lines of an entry's log (SUP-31): bounded in lines and bytes, over all its launches of this start.

use std::collections::VecDeque;

use treewarden_model::time::WallTime;

use crate::answers::LogLine;
use crate::limits::{LOG_BYTES_KEPT, LOG_LINES_KEPT};

#[derive(Debug, Default)]
pub(crate) struct LogRing {
    lines: VecDeque<LogLine>,
    bytes: usize,
}

impl LogRing {
    pub(crate) fn push(&mut self, time: WallTime, stream: &'static str, text: &str) {
        self.bytes += text.len();
        self.lines.push_back(LogLine {
            time,
            stream,
            text: text.to_owned(),
        });
        while self.lines.len() > LOG_LINES_KEPT || self.bytes > LOG_BYTES_KEPT {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.bytes -= oldest.text.len();
        }
    }

    /// The last `tail`, oldest first.
    pub(crate) fn tail(&self, tail: usize) -> Vec<LogLine> {
        self.lines
            .iter()
            .skip(self.lines.len().saturating_sub(tail))
            .cloned()
            .collect()
    }
}
