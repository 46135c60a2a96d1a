//! `store`: stands for the store in the tree and shows its state. The writer threads are the storage room's own; they end with
//! [`StoreHandle::close`], which the shutdown calls, not with this actor.
//!
//! [`StoreHandle::close`]: treewarden_storage::StoreHandle::close

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use treewarden_model::time::Clock as _;
use treewarden_storage::StoreHealth;

use crate::hub::Hub;
use crate::mailbox::Look;
use crate::meta::{Meta, Shown};

static STARTS: AtomicU64 = AtomicU64::new(0);

pub(crate) struct StoreActor;

impl Actor for StoreActor {
    type Msg = Look;
    type State = Arc<Meta>;
    type Arguments = Arc<Hub>;

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        hub: Arc<Hub>,
    ) -> Result<Arc<Meta>, ActorProcessingErr> {
        let shown = hub.clone();
        Ok(hub.metas.enlist(
            myself.get_id(),
            Meta {
                name: "store".to_owned(),
                kind: "store",
                started_at: hub.clock.wall(),
                restarts: STARTS.fetch_add(1, Ordering::Relaxed),
                show: Box::new(move || show(&shown)),
            },
        ))
    }
}

fn show(hub: &Hub) -> Shown {
    let statistics = hub.store.statistics();
    let mut detail = serde_json::Map::new();
    let health = match hub.store.health() {
        StoreHealth::Open => "open",
        StoreHealth::Low => "low",
        StoreHealth::Failed(_) => "failed",
    };
    detail.insert("health".to_owned(), health.into());
    detail.insert("groups".to_owned(), statistics.groups.into());
    detail.insert("launches".to_owned(), statistics.launches.into());
    detail.insert("log_syncs".to_owned(), statistics.log_syncs.into());
    Shown {
        queued: 0,
        handled: statistics.commands,
        detail,
    }
}
