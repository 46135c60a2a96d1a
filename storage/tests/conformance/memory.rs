//! A backend in memory: the shortest true implementation of the trait. One command at a time, no groups, no disk.

use std::collections::BTreeMap;
use std::sync::Mutex;

use treewarden_model::id::LaunchNumber;
use treewarden_model::name::EntryName;
use treewarden_model::outcome::Outcome;
use treewarden_storage::{
    Command, Committed, Desired, GroupNumber, PAGE_MAX, Page, PageRequest, RecordedStop, Reply,
    STOPS_KEPT, Store, StoreError, StoredNumbers, Token, TokenHash, TokenId, WalkPosition,
};

#[derive(Debug, Default, Clone, PartialEq)]
struct Rows {
    group: u64,
    numbers: Option<StoredNumbers>,
    desired: BTreeMap<EntryName, Desired>,
    stops: BTreeMap<EntryName, Vec<RecordedStop>>,
    last_launches: BTreeMap<EntryName, LaunchNumber>,
    tokens: BTreeMap<TokenId, Token>,
}

#[derive(Debug, Default)]
pub(crate) struct MemoryStore(Mutex<Rows>);

impl Rows {
    fn decide(&mut self, command: &Command) -> Result<(), StoreError> {
        match command {
            Command::BeginSession(numbers) => self.numbers = Some(*numbers),
            Command::RecordEnd { launch, result, at } => {
                let stops = self.stops.entry(launch.entry.clone()).or_default();
                let new = RecordedStop {
                    result: (**result).clone(),
                    at: *at,
                };
                match stops
                    .iter_mut()
                    .find(|stop| stop.result.launch == new.result.launch)
                {
                    Some(stop) if stop.result.ending.outcome != Outcome::TerminationUnconfirmed => {
                        return Ok(());
                    }
                    Some(stop) if stop.result == new.result => return Ok(()),
                    Some(stop) => *stop = new,
                    None => stops.push(new),
                }
                stops.sort_by_key(|stop| stop.result.launch);
                while stops.len() > STOPS_KEPT {
                    stops.remove(0);
                }
                let last = self
                    .last_launches
                    .entry(launch.entry.clone())
                    .or_insert(LaunchNumber::NONE);
                *last = (*last).max(launch.launch);
            }
            Command::SetDesired { entry, desired } => {
                self.desired.insert(entry.clone(), *desired);
            }
            Command::ForgetDesired { entry } => {
                self.desired.remove(entry);
            }
            Command::PutToken(token) => {
                if self.tokens.get(&token.id) == Some(token) {
                    return Ok(());
                }
                if self
                    .tokens
                    .values()
                    .any(|known| known.id == token.id || known.hash == token.hash)
                {
                    return Err(StoreError::TokenExists);
                }
                self.tokens.insert(token.id, (**token).clone());
            }
            Command::DeleteToken(id) => drop(self.tokens.remove(id)),
        }
        Ok(())
    }
}

fn page<K: Clone + Ord, V, T>(
    rows: &BTreeMap<K, V>,
    request: &PageRequest<K>,
    row: impl Fn(&K, &V) -> T,
) -> Page<T, K> {
    let limit = request.limit.clamp(1, PAGE_MAX);
    let after = rows
        .iter()
        .filter(|(key, _)| request.after.as_ref().is_none_or(|after| *key > after));
    let taken: Vec<_> = after.take(limit).collect();
    let next = if taken.len() == limit {
        taken.last().map(|(key, _)| (*key).clone())
    } else {
        None
    };
    Page {
        rows: taken
            .into_iter()
            .map(|(key, value)| row(key, value))
            .collect(),
        damaged: Vec::new(),
        next,
    }
}

impl Store for MemoryStore {
    fn commit(&self, group: &[Command]) -> Result<Committed, StoreError> {
        let mut rows = self.0.lock().unwrap();
        let begin = rows.clone();
        let replies = group
            .iter()
            .map(|command| {
                let before = rows.clone();
                rows.decide(command)?;
                Ok(if *rows == before {
                    Reply::Unchanged
                } else {
                    Reply::Changed
                })
            })
            .collect();
        // A group whose commands undo each other may count or not; as sled's, it counts when a command changed something.
        let replies: Vec<Result<Reply, StoreError>> = replies;
        if *rows != begin || replies.contains(&Ok(Reply::Changed)) {
            rows.group += 1;
        }
        Ok(Committed {
            group: GroupNumber(rows.group),
            replies,
        })
    }

    fn group(&self) -> Result<GroupNumber, StoreError> {
        Ok(GroupNumber(self.0.lock().unwrap().group))
    }

    fn numbers(&self) -> Result<Option<StoredNumbers>, StoreError> {
        Ok(self.0.lock().unwrap().numbers)
    }

    fn desired_of(&self, entry: &EntryName) -> Result<Option<Desired>, StoreError> {
        Ok(self.0.lock().unwrap().desired.get(entry).copied())
    }

    fn desired(
        &self,
        request: &PageRequest<EntryName>,
    ) -> Result<Page<(EntryName, Desired), EntryName>, StoreError> {
        Ok(page(
            &self.0.lock().unwrap().desired,
            request,
            |entry, desired| (entry.clone(), *desired),
        ))
    }

    fn stops_of(&self, entry: &EntryName) -> Result<Vec<RecordedStop>, StoreError> {
        Ok(self
            .0
            .lock()
            .unwrap()
            .stops
            .get(entry)
            .cloned()
            .unwrap_or_default())
    }

    fn last_launches(
        &self,
        request: &PageRequest<EntryName>,
    ) -> Result<Page<(EntryName, LaunchNumber), EntryName>, StoreError> {
        Ok(page(
            &self.0.lock().unwrap().last_launches,
            request,
            |entry, launch| (entry.clone(), *launch),
        ))
    }

    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError> {
        Ok(self
            .0
            .lock()
            .unwrap()
            .tokens
            .values()
            .find(|token| token.hash == *hash)
            .cloned())
    }

    fn tokens(&self, request: &PageRequest<TokenId>) -> Result<Page<Token, TokenId>, StoreError> {
        Ok(page(&self.0.lock().unwrap().tokens, request, |_, token| {
            token.clone()
        }))
    }

    fn walk(&self, _: &PageRequest<WalkPosition>) -> Result<Page<(), WalkPosition>, StoreError> {
        Ok(Page {
            rows: Vec::new(),
            damaged: Vec::new(),
            next: None,
        })
    }
}
