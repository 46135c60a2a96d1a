//! The actor tree as an indented text, one line an actor.

use treewarden_actors::view::ActorView;

use super::detail::pairs;

const HEAD: [&str; 6] = ["ACTOR", "KIND", "STATUS", "RESTARTS", "QUEUED", "HANDLED"];

/// The tree with a head line; columns are as wide as what is in them.
pub(crate) fn text(root: &ActorView) -> String {
    let mut rows = vec![(HEAD.map(str::to_owned), "DETAIL".to_owned())];
    add(root, "", "", &mut rows);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|(cells, _)| cells.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| width(column).unwrap_or_default())
        .collect();
    let mut text = String::new();
    for (cells, detail) in &rows {
        let mut line = String::new();
        for ((column, cell), width) in cells.iter().enumerate().zip(&widths) {
            // Words to the left, numbers to the right.
            let cell = if column < 3 {
                format!("{cell:<width$}  ")
            } else {
                format!("{cell:>width$}  ")
            };
            line.push_str(&cell);
        }
        line.push_str(detail);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// `lead` stands before the actor's own name, `below` before its children's.
fn add(actor: &ActorView, lead: &str, below: &str, rows: &mut Vec<([String; 6], String)>) {
    let name: String = actor
        .name
        .chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect();
    let cells = [
        format!("{lead}{name}"),
        actor.kind.to_owned(),
        actor.status.to_owned(),
        actor.restarts.to_string(),
        actor.queued.to_string(),
        actor.handled.to_string(),
    ];
    rows.push((cells, pairs(&actor.detail).join(" ")));
    let last = actor.children.len().saturating_sub(1);
    for (at, child) in actor.children.iter().enumerate() {
        let (branch, under) = if at == last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        add(
            child,
            &format!("{below}{branch}"),
            &format!("{below}{under}"),
            rows,
        );
    }
}
