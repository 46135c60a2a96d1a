//! The actor tree as a graphviz graph.

use treewarden_actors::view::ActorView;

use super::detail::pairs;

/// A directed graph from supervisors to children.
pub(crate) fn dot(root: &ActorView) -> String {
    let mut text = String::from(
        "digraph actors {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n",
    );
    add(root, &mut text);
    text.push_str("}\n");
    text
}

fn add(actor: &ActorView, text: &mut String) {
    let mut label = vec![
        actor.name.clone(),
        format!("{} · {}", actor.kind, actor.status),
    ];
    label.extend(pairs(&actor.detail));
    let label: Vec<String> = label.iter().map(|line| escaped(line)).collect();
    let id = escaped(&actor.id);
    let color = color(actor.status);
    text.push_str(&format!(
        "  \"{id}\" [label=\"{}\", fillcolor=\"{color}\"];\n",
        label.join("\\n")
    ));
    for child in &actor.children {
        text.push_str(&format!("  \"{id}\" -> \"{}\";\n", escaped(&child.id)));
        add(child, text);
    }
}

fn color(status: &str) -> &'static str {
    match status {
        "running" => "#d9f2d9",
        "starting" => "#fff4cc",
        "stopping" => "#ffe0b3",
        _ => "#e6e6e6",
    }
}

/// The inside of a quoted string: a backslash begins an escape in a label, so it is doubled.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            letter if letter.is_control() => "?".to_owned(),
            letter => letter.to_string(),
        })
        .collect()
}
