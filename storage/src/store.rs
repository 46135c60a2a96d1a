//! What any backend must be able to do: domain commands and queries, not keys.
//!
//! No command needs more than one transaction and no query more than one page, so that a database shared by several nodes can stand here
//! too. The suite in `tests/conformance` is what a backend must pass.

use std::fmt;

use treewarden_model::id::{LaunchNumber, LaunchOrdinal, NodeId, SessionNumber};
use treewarden_model::name::EntryName;
use treewarden_model::outcome::StopResult;
use treewarden_model::time::WallTime;

use crate::desired::Desired;
use crate::error::{DamagedRow, StoreError};
use crate::identity::GroupNumber;
use crate::launch::LaunchRecordKey;
use crate::stop::RecordedStop;
use crate::token::{Token, TokenHash, TokenId};

/// Most rows that one page holds.
pub const PAGE_MAX: usize = 256;

/// A change that is decided alone and lasts once it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A node starts on this database: its numbers are remembered, so that a lost `launches.log` is noticed (SUP-13).
    BeginSession(StoredNumbers),
    /// An execution ended. Idempotent; a confirmed end is final, an unconfirmed one gives way to a later one (SUP-11, SUP-12).
    RecordEnd {
        /// Which launch.
        launch: LaunchRecordKey,
        /// How it ended.
        result: Box<StopResult>,
        /// When, for people.
        at: WallTime,
    },
    /// An operator's wish (SUP-39). The last one holds.
    SetDesired {
        /// For which entry.
        entry: EntryName,
        /// What is wanted.
        desired: Desired,
    },
    /// The entry is gone, and so is what was wanted of it. Its counters stay (SUP-13).
    ForgetDesired {
        /// Which entry.
        entry: EntryName,
    },
    /// A new token. Its id and hash are unique; the same token again changes nothing.
    PutToken(Box<Token>),
    /// A token ends. One that is not there is no error.
    DeleteToken(TokenId),
}

impl Command {
    /// Whether it is refused while free space is under the floor (SUP-38): what makes more is, what ends something is not.
    pub const fn needs_space(&self) -> bool {
        matches!(self, Self::PutToken(_))
    }
}

/// Whether a command changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    /// It did.
    Changed,
    /// All was so already.
    Unchanged,
}

/// A group that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The newest synced group: this one, or an earlier one when nothing changed.
    pub group: GroupNumber,
    /// One answer a command, in order.
    pub replies: Vec<Result<Reply, StoreError>>,
}

/// The counters as the database remembers them; `launches.log` is their truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredNumbers {
    /// Whose database it is.
    pub node: NodeId,
    /// The last start.
    pub session: SessionNumber,
    /// The last launch of any entry, as known at that start.
    pub ordinal: LaunchOrdinal,
    /// No launch number up to this one is given again, whatever the entry.
    pub launch_base: LaunchNumber,
}

/// Asks for rows after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest<K> {
    /// Where the last page ended; `None`: from the beginning.
    pub after: Option<K>,
    /// At most this many rows, and never more than [`PAGE_MAX`].
    pub limit: usize,
}

impl<K> PageRequest<K> {
    /// The first page, as large as pages get.
    pub const fn first() -> Self {
        Self {
            after: None,
            limit: PAGE_MAX,
        }
    }

    /// The page after `key`.
    pub const fn after(key: K) -> Self {
        Self {
            after: Some(key),
            limit: PAGE_MAX,
        }
    }
}

/// Some rows in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, K> {
    /// The rows that could be read.
    pub rows: Vec<T>,
    /// The rows that could not.
    pub damaged: Vec<DamagedRow>,
    /// Where to go on; `None`: there is no more.
    pub next: Option<K>,
}

/// Where a walk over all rows stands. Opaque.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkPosition(pub(crate) Vec<u8>);

impl WalkPosition {
    /// A backend's own bytes.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes again.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A backend. Calls block; commits come from one thread at a time, queries from any.
///
/// # Errors
/// Every method answers [`StoreError::Failed`] when the backend can no longer be relied upon; the caller then sends no more commands.
/// A query answers [`StoreError::Damaged`] for a row that can't be read.
pub trait Store: fmt::Debug + Send + Sync {
    /// Decides the commands one after another, each seeing what the earlier ones decided, as one transaction: after a crash all of the group is there or none.
    /// Returns when the group is on disk; until then no query shows it.
    fn commit(&self, group: &[Command]) -> Result<Committed, StoreError>;

    /// The newest group on disk.
    fn group(&self) -> Result<GroupNumber, StoreError>;

    /// What [`Command::BeginSession`] said last; `None` in a new database.
    fn numbers(&self) -> Result<Option<StoredNumbers>, StoreError>;

    /// What is wanted of an entry.
    fn desired_of(&self, entry: &EntryName) -> Result<Option<Desired>, StoreError>;

    /// What is wanted of all entries, a page at a time.
    fn desired(
        &self,
        page: &PageRequest<EntryName>,
    ) -> Result<Page<(EntryName, Desired), EntryName>, StoreError>;

    /// The last [`crate::STOPS_KEPT`] stops of an entry, newest last.
    fn stops_of(&self, entry: &EntryName) -> Result<Vec<RecordedStop>, StoreError>;

    /// The greatest launch number of each entry that an end was recorded for.
    fn last_launches(
        &self,
        page: &PageRequest<EntryName>,
    ) -> Result<Page<(EntryName, LaunchNumber), EntryName>, StoreError>;

    /// The token with this hash.
    fn token_by_hash(&self, hash: &TokenHash) -> Result<Option<Token>, StoreError>;

    /// All tokens, a page at a time.
    fn tokens(&self, page: &PageRequest<TokenId>) -> Result<Page<Token, TokenId>, StoreError>;

    /// Reads rows of every kind only to see whether they can be read. `rows` counts them.
    fn walk(&self, page: &PageRequest<WalkPosition>) -> Result<Page<(), WalkPosition>, StoreError>;
}
