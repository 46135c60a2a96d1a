//! Lines of an entry's log.

use serde::Serialize;
use treewarden_actors::answers::LogLine;

use super::time::Moment;

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct LogLineBody {
    time: Moment,
    stream: &'static str,
    text: String,
}

/// The last lines, oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct LogsBody {
    lines: Vec<LogLineBody>,
}

impl From<Vec<LogLine>> for LogsBody {
    fn from(lines: Vec<LogLine>) -> Self {
        let line = |line: LogLine| LogLineBody {
            time: Moment(line.time),
            stream: line.stream,
            text: line.text,
        };
        Self {
            lines: lines.into_iter().map(line).collect(),
        }
    }
}
