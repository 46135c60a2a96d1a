//! The node as the handlers see it, so that their tests need no node.

use std::future::Future;
use std::time::Duration;

use serde_json::value::RawValue;
use treewarden_actors::NodeHandle;
use treewarden_actors::answers::{
    CallResult, EntryError, LogLine, NodeInfo, Principal, Readiness, ReloadError, ReloadReport,
    Restarted, Started,
};
use treewarden_actors::view::ActorView;
use treewarden_model::outcome::StopResult;
use treewarden_model::status::EntryStatus;

/// A running node: every method is [`NodeHandle`]'s of the same name.
///
/// Dropping a future cancels the waiting only, except for `call`, which is cancelled.
pub(crate) trait Node: Clone + Send + Sync + 'static {
    fn list(&self) -> Vec<EntryStatus>;
    fn show(&self, name: &str) -> Result<EntryStatus, EntryError>;
    fn start(&self, name: &str) -> impl Future<Output = Result<Started, EntryError>> + Send;
    fn stop(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<StopResult>, EntryError>> + Send;
    fn kill(
        &self,
        name: &str,
    ) -> impl Future<Output = Result<Option<StopResult>, EntryError>> + Send;
    fn restart(&self, name: &str) -> impl Future<Output = Result<Restarted, EntryError>> + Send;
    fn reset(&self, name: &str) -> impl Future<Output = Result<EntryStatus, EntryError>> + Send;
    fn call(
        &self,
        name: &str,
        service: &str,
        method: &str,
        params: Option<&RawValue>,
        timeout: Option<Duration>,
    ) -> impl Future<Output = CallResult> + Send;
    fn logs(&self, name: &str, tail: usize) -> Result<Vec<LogLine>, EntryError>;
    fn reload(&self) -> impl Future<Output = Result<ReloadReport, ReloadError>> + Send;
    fn tree(&self) -> ActorView;
    fn readiness(&self) -> Readiness;
    fn info(&self) -> NodeInfo;
    fn authenticate(&self, hash: [u8; 32]) -> Result<Option<Principal>, EntryError>;
    #[cfg(feature = "faults")]
    fn kill_actor(&self, id: &str) -> bool;
    #[cfg(feature = "faults")]
    fn leap(&self, by: Duration);
    #[cfg(feature = "faults")]
    fn ballast(&self, bytes: usize);
}

impl Node for NodeHandle {
    fn list(&self) -> Vec<EntryStatus> {
        Self::list(self)
    }

    fn show(&self, name: &str) -> Result<EntryStatus, EntryError> {
        Self::show(self, name)
    }

    async fn start(&self, name: &str) -> Result<Started, EntryError> {
        Self::start(self, name).await
    }

    async fn stop(&self, name: &str) -> Result<Option<StopResult>, EntryError> {
        Self::stop(self, name).await
    }

    async fn kill(&self, name: &str) -> Result<Option<StopResult>, EntryError> {
        Self::kill(self, name).await
    }

    async fn restart(&self, name: &str) -> Result<Restarted, EntryError> {
        Self::restart(self, name).await
    }

    async fn reset(&self, name: &str) -> Result<EntryStatus, EntryError> {
        Self::reset(self, name).await
    }

    async fn call(
        &self,
        name: &str,
        service: &str,
        method: &str,
        params: Option<&RawValue>,
        timeout: Option<Duration>,
    ) -> CallResult {
        Self::call(self, name, service, method, params, timeout).await
    }

    fn logs(&self, name: &str, tail: usize) -> Result<Vec<LogLine>, EntryError> {
        Self::logs(self, name, tail)
    }

    async fn reload(&self) -> Result<ReloadReport, ReloadError> {
        Self::reload(self).await
    }

    fn tree(&self) -> ActorView {
        Self::tree(self)
    }

    fn readiness(&self) -> Readiness {
        Self::readiness(self)
    }

    fn info(&self) -> NodeInfo {
        Self::info(self)
    }

    fn authenticate(&self, hash: [u8; 32]) -> Result<Option<Principal>, EntryError> {
        Self::authenticate(self, hash)
    }

    #[cfg(feature = "faults")]
    fn kill_actor(&self, id: &str) -> bool {
        Self::kill_actor(self, id)
    }

    #[cfg(feature = "faults")]
    fn leap(&self, by: Duration) {
        Self::leap(self, by);
    }

    #[cfg(feature = "faults")]
    fn ballast(&self, bytes: usize) {
        Self::ballast(self, bytes);
    }
}
