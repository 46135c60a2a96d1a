//! Storing what is wanted of an entry: one write at a time and the last wish wins, however fast they come.

use std::sync::Arc;

use treewarden_model::entry::Desired;
use treewarden_runtime::task;
use treewarden_storage::StoreError;

use crate::cell::EntryCell;
use crate::fence::UnderWay;
use crate::hub::Hub;
use crate::mailbox::lock;

/// What is to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish {
    /// This is wanted, of the declaration of this moment.
    Want(treewarden_storage::Desired),
    /// The entry is gone.
    Forget,
}

/// Wishes of one entry on their way to the store.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    next: Option<Wish>,
    /// Answers that wait for the next write; an earlier wish that was overtaken is as good as stored with the later one.
    waiting: Vec<UnderWay>,
    writing: bool,
}

pub(super) fn want(hub: &Arc<Hub>, cell: &Arc<EntryCell>, desired: Desired) {
    let declared = cell.declared().fingerprint();
    store(
        hub,
        cell,
        Wish::Want(treewarden_storage::Desired {
            state: desired,
            declared,
        }),
    );
}

pub(super) fn forget(hub: &Arc<Hub>, cell: &Arc<EntryCell>) {
    store(hub, cell, Wish::Forget);
}

fn store(hub: &Arc<Hub>, cell: &Arc<EntryCell>, wish: Wish) {
    {
        let mut wishes = lock(&cell.wishes);
        wishes.next = Some(wish);
        wishes.waiting.push(cell.fence.begin());
        if std::mem::replace(&mut wishes.writing, true) {
            return;
        }
    }
    let (hub, cell) = (hub.clone(), cell.clone());
    task::spawn("store what is wanted", async move {
        while let Some((wish, waiting)) = next(&cell) {
            if let Err(error) = write(&hub, &cell, wish).await {
                tracing::error!(entry = %cell.name, error = %error, "What is wanted of an entry could not be stored");
                for answer in &waiting {
                    answer.fail(&error);
                }
            }
            drop(waiting);
        }
    });
}

fn next(cell: &EntryCell) -> Option<(Wish, Vec<UnderWay>)> {
    let mut wishes = lock(&cell.wishes);
    let next = wishes.next.take();
    wishes.writing = next.is_some();
    next.map(|wish| (wish, std::mem::take(&mut wishes.waiting)))
}

async fn write(hub: &Hub, cell: &EntryCell, wish: Wish) -> Result<(), StoreError> {
    fail::fail_point!("persist.fails", |_| Err(StoreError::Closed));
    match wish {
        Wish::Want(desired) => hub.store.set_desired(&cell.name, desired).await,
        // Declared again meanwhile, under the same name: its wishes are not ours to forget.
        Wish::Forget
            if hub
                .cell(cell.name.as_str())
                .is_some_and(|present| !std::ptr::eq(Arc::as_ptr(&present), cell)) =>
        {
            Ok(())
        }
        Wish::Forget => hub.store.forget_desired(&cell.name).await,
    }
}
