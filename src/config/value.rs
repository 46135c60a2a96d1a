//! From the tree to JSON, the form that the rules of the model judge, whatever a declaration was written in.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use treewarden_model::declaration::problem::{Fault, KeyPath, Problem, Problems, Segment, Shown};

use super::error::Position;
use super::tree::{Member, Node, Tree};

/// A document as JSON, and what JSON can't hold.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) value: Value,
    /// Numbers of a `config` that are not finite or would lose digits; they are null in `value`.
    pub(super) lossy: Problems,
    /// Keys that are set once more, and where; `value` has what is set first.
    pub(super) repeated: Vec<(Position, Problem)>,
}

/// Makes JSON of it.
pub(super) fn of(tree: &Tree, source: &str) -> Converted {
    let mut conversion = Conversion {
        source,
        lossy: Problems::default(),
        repeated: Vec::new(),
    };
    let value = conversion.value(tree, &KeyPath::root());
    Converted {
        value,
        lossy: conversion.lossy,
        repeated: conversion.repeated,
    }
}

struct Conversion<'a> {
    source: &'a str,
    lossy: Problems,
    repeated: Vec<(Position, Problem)>,
}

impl Conversion<'_> {
    fn value(&mut self, tree: &Tree, path: &KeyPath) -> Value {
        match &tree.node {
            Node::Null => Value::Null,
            Node::Text(text) => Value::String(text.clone()),
            Node::List(items) => Value::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| self.value(item, &path.index(at)))
                    .collect(),
            ),
            Node::Map(members) => Value::Object(self.map(members, path)),
            Node::Bool(_) | Node::Unsigned(_) | Node::Signed(_) | Node::Float(_) => {
                self.scalar(tree, path)
            }
        }
    }

    fn scalar(&mut self, tree: &Tree, path: &KeyPath) -> Value {
        let spelling = self.spelling(tree);
        // A variable is text: 1.10 means 1.10 there, not 1.1.
        if let (true, Some(spelling)) = (is_below(path, "env"), spelling) {
            return Value::String(spelling.to_owned());
        }
        let exact = is_below(path, "config");
        match &tree.node {
            Node::Bool(flag) => Value::Bool(*flag),
            Node::Unsigned(number) => Value::from(*number),
            Node::Signed(number) => Value::from(*number),
            Node::Float(number) => {
                let whole = spelling.is_some_and(|text| {
                    text.trim_start_matches(['+', '-'])
                        .bytes()
                        .all(|b| b.is_ascii_digit())
                });
                let shown = spelling.map_or_else(|| number.to_string(), str::to_owned);
                match Number::from_f64(*number) {
                    Some(number) if !whole || !exact => Value::Number(number),
                    // As a text it is refused by the rule of its key, which knows what to write instead.
                    None if !exact => Value::String(shown),
                    Some(_) => self.refuse(
                        path,
                        format!(
                            "{} has more digits than a number can hold; put it in quotes",
                            Shown(&shown)
                        ),
                    ),
                    None => self.refuse(
                        path,
                        format!(
                            "{} is no finite number; write one, or put it in quotes",
                            Shown(&shown)
                        ),
                    ),
                }
            }
            _ => Value::Null,
        }
    }

    fn refuse(&mut self, path: &KeyPath, why: String) -> Value {
        self.lossy.report(path.clone(), Fault::Refused(why));
        Value::Null
    }

    fn map(&mut self, members: &[Member], path: &KeyPath) -> Map<String, Value> {
        let mut map = Map::new();
        let mut seen: BTreeMap<&str, Position> = BTreeMap::new();
        for member in members {
            let at = path.key(&member.key);
            if let Some(first) = seen.get(member.key.as_str()) {
                let fault = Fault::Refused(format!(
                    "is set already in line {}; keep one of them",
                    first.line
                ));
                self.repeated
                    .push((member.key_position, Problem { path: at, fault }));
                continue;
            }
            seen.insert(&member.key, member.key_position);
            let value = self.value(&member.value, &at);
            map.insert(member.key.clone(), value);
        }
        map
    }

    /// How a number or flag is written in the file; `None` when a tag or the like stands around it.
    fn spelling(&self, tree: &Tree) -> Option<&str> {
        let text = self.source.get(tree.spelled.clone()?)?.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        Some(text).filter(|text| !text.is_empty() && text.chars().all(plain))
    }
}

/// Whether a path is `entries.NAME.KEY` or below it.
fn is_below(path: &KeyPath, key: &str) -> bool {
    match path.segments() {
        [
            Segment::Key(entries),
            Segment::Key(_),
            Segment::Key(of_entry),
            ..,
        ] => entries == "entries" && of_entry == key,
        _ => false,
    }
}
