//! What a reload did.

use serde::Serialize;
use treewarden_actors::answers::ReloadReport;
use treewarden_model::name::EntryName;

/// Every entry is in exactly one list; each list is sorted.
#[derive(Debug, Serialize)]
pub(crate) struct ReloadBody {
    started: Vec<EntryName>,
    stopped: Vec<EntryName>,
    replaced: Vec<EntryName>,
    restarted: Vec<EntryName>,
    unchanged: Vec<EntryName>,
}

impl From<ReloadReport> for ReloadBody {
    fn from(report: ReloadReport) -> Self {
        let ReloadReport {
            started,
            stopped,
            replaced,
            restarted,
            unchanged,
        } = report;
        Self {
            started,
            stopped,
            replaced,
            restarted,
            unchanged,
        }
    }
}
