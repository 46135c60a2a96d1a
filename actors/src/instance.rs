//! `instance:<id>`: carries out what the machine of one launch says, and tells the entry how it goes.
//!
//! ```text
//! launcher, store, plugin, keeper, timers ──▶ mailbox ──▶ launch machine ──▶ effects ──▶ launcher, store, connection, keeper, entry
//! ```
//!
//! Messages: only [`Look`]. Killed or panicked, its supervisor starts another on the same cell, which arms again what the machine's state
//! needs (`resume`); the process was never the actor's (SUP-35).

mod ending;
mod spec;
mod steps;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use serde_json::Value;
use treewarden_model::time::Clock as _;

use crate::cell::{LaunchCell, LaunchItem};
use crate::hub::Hub;
use crate::mailbox::{Look, Taken, lock};
use crate::meta::{Meta, Shown};

/// Items carried out before other actors get their turn.
const ITEMS_A_TURN: usize = 64;

pub(crate) struct InstanceActor;

pub(crate) struct InstanceState {
    hub: Arc<Hub>,
    cell: Arc<LaunchCell>,
    _meta: Arc<Meta>,
}

impl Actor for InstanceActor {
    type Msg = Look;
    type State = InstanceState;
    type Arguments = (Arc<Hub>, Arc<LaunchCell>);

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        (hub, cell): Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let starts = cell.actor_starts.fetch_add(1, Ordering::SeqCst);
        let shown = cell.clone();
        let meta = hub.metas.enlist(
            myself.get_id(),
            Meta {
                name: format!("instance:{}", cell.tag.instance.id),
                kind: "instance",
                started_at: hub.clock.wall(),
                restarts: starts,
                show: Box::new(move || show(&shown)),
            },
        );
        if starts > 0 {
            for effect in lock(&cell.machine).resume() {
                cell.mailbox.post(LaunchItem::Effect(effect));
            }
        }
        Ok(InstanceState {
            hub,
            cell,
            _meta: meta,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Look>,
        _: Look,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let (hub, cell) = (&state.hub, &state.cell);
        cell.mailbox.begin();
        for _ in 0..ITEMS_A_TURN {
            match cell.mailbox.take() {
                Some(Taken::Item(LaunchItem::Event(event))) => {
                    let effects = lock(&cell.machine).step(event, hub.now());
                    cell.mailbox
                        .next(effects.into_iter().map(LaunchItem::Effect));
                }
                Some(Taken::Item(LaunchItem::Effect(effect))) => {
                    steps::carry_out(hub, cell, effect)
                }
                Some(Taken::GivenUp(item)) => steps::give_up(cell, &item),
                None => break,
            }
            cell.mailbox.done();
        }
        if cell.ended() && cell.mailbox.queued() == 0 {
            myself.stop(None);
        } else if cell.mailbox.queued() > 0 {
            cell.mailbox.tell();
        }
        Ok(())
    }
}

fn show(cell: &LaunchCell) -> Shown {
    let tag = &cell.tag;
    let mut detail = serde_json::Map::new();
    detail.insert("instance".to_owned(), tag.instance.id.clone().into());
    detail.insert(
        "generation".to_owned(),
        tag.instance.generation.get().into(),
    );
    detail.insert("launch".to_owned(), tag.launch.get().into());
    detail.insert(
        "pid".to_owned(),
        cell.process
            .get()
            .map_or(Value::Null, |process| process.pid.into()),
    );
    detail.insert("placement".to_owned(), "local".into());
    let phase = format!("{:?}", lock(&cell.machine).phase());
    detail.insert(
        "phase".to_owned(),
        phase
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_lowercase()
            .into(),
    );
    if let Some(process) = cell.process.get() {
        detail.insert(
            "calls_in_flight".to_owned(),
            process.connection.in_flight().into(),
        );
    }
    Shown {
        queued: cell.mailbox.queued(),
        handled: cell.mailbox.handled(),
        detail,
    }
}
