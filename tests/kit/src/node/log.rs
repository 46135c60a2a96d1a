//! What the node writes to stderr.

use std::time::Duration;

use serde_json::Value;

use super::Node;

/// How much later than the fact its record may be in the file.
const BOUND: Duration = Duration::from_secs(5);

impl Node {
    /// The log's lines so far, those of earlier starts included.
    pub fn log_lines(&self) -> Vec<String> {
        let bytes = std::fs::read(self.directory().join("node.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The log's last lines, for a failure's message.
    pub fn log_tail(&self) -> String {
        let lines = self.log_lines();
        lines
            .get(lines.len().saturating_sub(80)..)
            .unwrap_or_default()
            .join("\n")
    }

    /// The log as JSON records (`--log-format json`), fields lifted to the top.
    pub fn log_records(&self) -> Vec<Value> {
        let lift = |line: &String| {
            let mut record: Value = serde_json::from_str(line).ok()?;
            if let Some(Value::Object(fields)) = record.as_object_mut()?.remove("fields") {
                record.as_object_mut()?.extend(fields);
            }
            Some(record)
        };
        self.log_lines().iter().filter_map(lift).collect()
    }

    /// Records with this message.
    pub fn log_with(&self, message: &str) -> Vec<Value> {
        self.log_records()
            .into_iter()
            .filter(|record| record["message"] == message)
            .collect()
    }

    /// Waits for a record with this message (the node writes its log aside), and gives all such.
    ///
    /// # Panics
    /// There is none within 5 seconds.
    #[track_caller]
    pub fn wait_logged(&self, message: &str) -> Vec<Value> {
        crate::wait_for(&format!("the log says {message:?}"), BOUND, || {
            Some(self.log_with(message)).filter(|records| !records.is_empty())
        })
    }

    /// Waits for a line that holds this text, and gives the first such.
    ///
    /// # Panics
    /// There is none within 5 seconds.
    #[track_caller]
    pub fn wait_log_line(&self, text: &str) -> String {
        crate::wait_for(&format!("a line of the log holds {text:?}"), BOUND, || {
            self.log_lines()
                .into_iter()
                .find(|line| line.contains(text))
        })
    }

    /// Standard output so far.
    pub fn output(&self) -> String {
        std::fs::read_to_string(self.directory().join("node.out")).unwrap_or_default()
    }
}
