//! What each command does to the rows. Every check comes before the first change, so a refused command changes nothing.

use super::key::Key;
use super::overlay::Overlay;
use crate::codec::rows::{
    DesiredRow, NumberRow, NumbersRow, StopRow, StopsRow, TokenHashRow, TokenRow,
};
use crate::error::StoreError;
use crate::launch::LaunchRecordKey;
use crate::stop::STOPS_KEPT;
use crate::store::{Command, Reply};
use crate::token::{Token, TokenId};

/// Rows that one command changes at most; groups stay under 512 rows, above which sled's batches get slower than linear.
const ROWS_MAX: usize = 4;
const _: () = assert!(ROWS_MAX * crate::options::GROUP_COMMANDS_MAX <= 512);

pub(super) fn decide(overlay: &mut Overlay<'_>, command: &Command) -> Result<Reply, StoreError> {
    match command {
        Command::BeginSession(numbers) => put(overlay, &Key::numbers(), &NumbersRow::from(numbers)),
        Command::RecordEnd { launch, result, at } => {
            record_end(overlay, launch, StopRow::new(result, *at))
        }
        Command::SetDesired { entry, desired } => {
            put(overlay, &Key::desired(entry), &DesiredRow::from(desired))
        }
        Command::ForgetDesired { entry } => match overlay.get::<DesiredRow>(&Key::desired(entry)) {
            Ok(None) => Ok(Reply::Unchanged),
            // A damaged row is removed like any other.
            Ok(Some(_)) | Err(StoreError::Damaged(_)) => {
                overlay.remove(&Key::desired(entry));
                Ok(Reply::Changed)
            }
            Err(error) => Err(error),
        },
        Command::PutToken(token) => put_token(overlay, token),
        Command::DeleteToken(id) => delete_token(overlay, *id),
    }
}

/// Writes a row whose old value does not matter, unless it is the same. A damaged one is replaced.
fn put<R: crate::codec::Row + PartialEq>(
    overlay: &mut Overlay<'_>,
    key: &Key,
    row: &R,
) -> Result<Reply, StoreError> {
    match overlay.get::<R>(key) {
        Ok(Some(known)) if known == *row => Ok(Reply::Unchanged),
        Ok(_) => overlay.put(key, row).map(|()| Reply::Changed),
        Err(StoreError::Damaged(damaged)) => {
            tracing::error!(error = %damaged, "A damaged row was replaced");
            overlay.put(key, row).map(|()| Reply::Changed)
        }
        Err(error) => Err(error),
    }
}

fn record_end(
    overlay: &mut Overlay<'_>,
    launch: &LaunchRecordKey,
    stop: StopRow,
) -> Result<Reply, StoreError> {
    let key = Key::stops(&launch.entry);
    let mut row = match overlay.get::<StopsRow>(&key) {
        Ok(row) => row.unwrap_or_default(),
        // The end of a launch is worth more than the history, and must not wait for a repair.
        Err(StoreError::Damaged(_)) => StopsRow::default(),
        Err(error) => return Err(error),
    };
    match row
        .stops
        .iter_mut()
        .find(|known| known.launch == stop.launch)
    {
        Some(known) if known.is_confirmed() || known.says_the_same(&stop) => {
            return Ok(Reply::Unchanged);
        }
        Some(known) => *known = stop,
        None => {
            // In the order of launches, whatever the order of their ends; older ones fall off.
            let place = row
                .stops
                .partition_point(|known| known.launch < stop.launch);
            row.stops.insert(place, stop);
            let surplus = row.stops.len().saturating_sub(STOPS_KEPT);
            row.stops.drain(..surplus);
        }
    }
    let counter = Key::last_launch(&launch.entry);
    let known = match overlay.get::<NumberRow>(&counter) {
        Ok(known) => known.map_or(0, |known| known.0),
        Err(StoreError::Damaged(_)) => 0,
        Err(error) => return Err(error),
    };
    let stops = put(overlay, &key, &row)?;
    let counter = put(
        overlay,
        &counter,
        &NumberRow(known.max(launch.launch.get())),
    )?;
    // Unchanged: the end of a launch so old that it is not kept.
    Ok(if stops == Reply::Changed {
        stops
    } else {
        counter
    })
}

fn put_token(overlay: &mut Overlay<'_>, token: &Token) -> Result<Reply, StoreError> {
    let (key, hash) = (Key::token(token.id), Key::token_hash(&token.hash));
    let row = TokenRow::from(token);
    match (
        overlay.get::<TokenRow>(&key)?,
        overlay.get::<TokenHashRow>(&hash)?,
    ) {
        (None, None) => {}
        (Some(known), Some(_)) if known == row => return Ok(Reply::Unchanged),
        _ => return Err(StoreError::TokenExists),
    }
    overlay.put(&key, &row)?;
    overlay.put(&hash, &TokenHashRow(*token.id.0.as_bytes()))?;
    Ok(Reply::Changed)
}

fn delete_token(overlay: &mut Overlay<'_>, id: TokenId) -> Result<Reply, StoreError> {
    match overlay.get::<TokenRow>(&Key::token(id)) {
        Ok(None) => return Ok(Reply::Unchanged),
        Ok(Some(row)) => overlay.remove(&Key::token_hash(&Token::from(row).hash)),
        // Its hash is not known, so that row stays and leads nowhere.
        Err(StoreError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    overlay.remove(&Key::token(id));
    Ok(Reply::Changed)
}
