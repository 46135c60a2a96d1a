//! YAML as a tree that knows where each value stands, before anything is known of its meaning.

use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Options, Spanned};
use treewarden_model::declaration::document::CONFIG_DEPTH_MAX;
use treewarden_model::declaration::problem::{KeyPath, Segment};

use super::error::Position;

/// Deepest nesting: a `config` of its own bound, and the levels above it.
const DEPTH_MAX: usize = CONFIG_DEPTH_MAX + 8;

/// Most values of a file: 4096 entries of sixty values each.
const NODES_MAX: usize = 250_000;

/// Most values that aliases may repeat in all: a file of a few lines must not become gigabytes.
const REPEATED_MAX: usize = 100_000;

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) position: Position,
    /// Which bytes of the file spell a scalar.
    pub(super) spelled: Option<Range<usize>>,
    pub(super) node: Node,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<Member>),
}

/// A key and its value. A map may hold a key twice: that is judged later, so that all such keys are reported.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_position: Position,
    pub(super) value: Tree,
}

/// Reads a document. An empty one is [`Node::Null`].
///
/// # Errors
/// What is no YAML, or more of it than the bounds above allow. No message repeats a value of the file: it may be a secret.
pub(super) fn parse(text: &str) -> Result<Tree, serde_saphyr::Error> {
    let options: Options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_documents: 1,
            max_events: 4 * NODES_MAX,
            max_nodes: NODES_MAX,
            // A map of defaults that every entry repeats is no attack; what repeats much is caught below.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: REPEATED_MAX },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// What is wrong, and where. The library's text says the place too, after the message; here it goes in front.
pub(super) fn describe(error: &serde_saphyr::Error) -> (String, Option<Position>) {
    let error = error.without_snippet();
    let place = error.location().map(position);
    let message = match error {
        Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        }
        | Error::MultipleDocuments { .. } => {
            "a second document begins here; keep one to a file".to_owned()
        }
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => format!("nested deeper than {DEPTH_MAX} levels; flatten it"),
        Error::Budget { .. } => {
            "more values than are read from one file; make it smaller".to_owned()
        }
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "aliases repeat more than is read from one file; use fewer".to_owned()
        }
        Error::Unexpected { .. } | Error::NullIntoString { .. } => {
            "a key must be a text".to_owned()
        }
        other => other.to_string(),
    };
    let suffix = place
        .map(|Position { line, column }| format!(" at line {line}, column {column}"))
        .unwrap_or_default();
    (
        message.strip_suffix(&suffix).unwrap_or(&message).to_owned(),
        place,
    )
}

impl Tree {
    /// Where to point for what is said of `path`: at the scalar or the list's item itself, else at the key; at the
    /// nearest thing above for what is not there.
    pub(super) fn position_of(&self, path: &KeyPath, at_key: bool) -> Position {
        let mut here = self;
        let mut position = self.position;
        for segment in path.segments() {
            let step = match (segment, &here.node) {
                (Segment::Key(key), Node::Map(members)) => members
                    .iter()
                    .find(|member| member.key == *key)
                    .map(|member| (&member.value, member.key_position)),
                (Segment::Index(index), Node::List(items)) => {
                    items.get(*index).map(|item| (item, item.position))
                }
                _ => None,
            };
            let Some((next, at)) = step else {
                return position;
            };
            (here, position) = (next, at);
        }
        match here.node {
            Node::Null | Node::List(_) | Node::Map(_) => position,
            _ if at_key => position,
            _ => here.position,
        }
    }
}

fn position(location: Location) -> Position {
    Position {
        line: location.line(),
        column: location.column(),
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value: node,
            referenced,
            defined,
        } = Spanned::<Node>::deserialize(deserializer)?;
        let span = defined.span();
        let spelled = span
            .byte_offset()
            .zip(span.byte_len())
            .and_then(|(start, length)| {
                let start = usize::try_from(start).ok()?;
                Some(start..start.checked_add(usize::try_from(length).ok()?)?)
            });
        Ok(Self {
            position: position(referenced),
            spelled,
            node,
        })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Bool(flag))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Unsigned(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Node, E> {
        Ok(u64::try_from(number).map_or(Node::Signed(number), Node::Unsigned))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Float(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(Spanned {
            value: key,
            referenced,
            ..
        }) = access.next_key::<Spanned<String>>()?
        {
            members.push(Member {
                key,
                key_position: position(referenced),
                value: access.next_value()?,
            });
        }
        Ok(Node::Map(members))
    }
}
