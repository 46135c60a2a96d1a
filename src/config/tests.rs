use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use tempfile::TempDir;
use treewarden_model::declaration::EnvValue;

use super::*;

/// A folder with a program `ledger`, a program `writer`, and what else the tables below name.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for program in ["ledger", "writer"] {
        let path = folder.path().join(program);
        fs::write(&path, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    }
    fs::write(folder.path().join("plain"), "").expect("written");
    fs::write(folder.path().join("key"), "secret\n").expect("written");
    folder
}

fn load_text(folder: &TempDir, text: &str) -> Result<Config, ConfigError> {
    let path = folder.path().join("treewarden.yaml");
    fs::write(&path, text).expect("written");
    load(&path)
}

/// The message about a bad file, without the folder's name.
fn said(text: &str) -> String {
    let folder = folder();
    let error = load_text(&folder, text).expect_err(text).to_string();
    error.replace(&format!("{}/", folder.path().display()), "")
}

/// One file a paragraph, with what is said of it.
fn table(files: &[&str]) -> String {
    files
        .iter()
        .map(|file| {
            format!(
                "{}\n  => {}",
                file.trim_end().replace('\n', "\n   "),
                said(file)
            )
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// The whole file of interfaces.md §2, as far as this version goes.
const WHOLE: &str = r"
node:
  listen: 127.0.0.1:7420            # beyond loopback only with tls or behind_proxy: true
  data_dir: ./treewarden-data
  hosts: [Node.example, '[::1]']
  storage_floor: 128 MiB
runners:
  edge-1:
    connect: unix:/run/treewarden/runner.sock
    token_file: /etc/treewarden/edge-1.token
    ca_file: /etc/treewarden/ca.pem
    lease: 15 seconds
    margin: 5 seconds
entries:
  ledger:
    run: local
    command: [./ledger, --verbose]
    env: { LEDGER_COLOR: blue, VERSION: 1.10, MODE: 0755, BIG: 123456789012345678901234, YES: yes, LOUD: True, LEDGER_KEY: { file: key } }
    config: { any: json, numbers: [1, -2, 1.5] }
    provides: [ledger]
    limits: { memory: 256 MiB, processes: 64, open_files: 1024 }
  writer:
    command: [./writer]
    uses: [ledger]
    retry: { initial: 100 millis, max: 30 seconds, factor: 2, restarts: 10, within: 10 minutes }
  shell:
    command: [sh, -c, exit]
    retry: none
";

#[test]
fn whole_file_is_read() {
    let folder = folder();
    let config = load_text(&folder, WHOLE).expect("a good file");
    assert_eq!(
        config.node,
        NodeConfig {
            listen: Some("127.0.0.1:7420".parse().expect("an address")),
            data_dir: Some(folder.path().join("treewarden-data")),
            hosts: vec!["node.example".to_owned(), "[::1]".to_owned()],
            behind_proxy: false,
            storage_floor: 128 << 20,
        }
    );
    let names: Vec<&str> = config.entries.keys().map(EntryName::as_str).collect();
    assert_eq!(names, ["ledger", "shell", "writer"]);
    let ledger = &config.entries["ledger"];
    assert_eq!(
        ledger.command,
        [
            folder.path().join("ledger").to_str().expect("UTF-8"),
            "--verbose"
        ]
    );
    assert_eq!(
        config.entries["shell"].command,
        ["sh", "-c", "exit"],
        "a bare name stays one"
    );
    assert_eq!(
        ledger.config,
        serde_json::json!({ "any": "json", "numbers": [1, -2, 1.5] })
    );
    assert_eq!(
        ledger.env["LEDGER_KEY"],
        EnvValue::File(folder.path().join("key"))
    );
    for (name, spelled) in [
        ("VERSION", "1.10"),
        ("MODE", "0755"),
        ("BIG", "123456789012345678901234"),
        ("YES", "yes"),
        ("LOUD", "True"),
    ] {
        assert!(
            ledger.env[name] == EnvValue::Literal(spelled.to_owned()),
            "{name} is not as written"
        );
    }
    insta::assert_snapshot!(config.warnings.join("\n"), @r#"
    runners are not available in this version yet; nothing connects to edge-1
    "#);
}

#[test]
fn empty_file_is_the_default() {
    let folder = folder();
    for text in [
        "",
        "# nothing\n",
        "---\n",
        "node:\nrunners:\nentries:\n",
        "{}",
    ] {
        assert_eq!(
            load_text(&folder, text).expect(text),
            Config::default(),
            "{text}"
        );
    }
}

#[test]
fn defaults_may_be_shared_by_anchors() {
    let folder = folder();
    let text = "entries:\n  a: &base\n    command: [./ledger]\n    retry: none\n  b: *base\n  c:\n    <<: *base\n    command: [./writer]\n";
    let config = load_text(&folder, text).expect("a good file");
    assert_eq!(config.entries["a"].retry, config.entries["c"].retry);
    assert!(
        config.entries["b"].command[0].ends_with("/ledger")
            && config.entries["c"].command[0].ends_with("/writer")
    );
}

#[test]
fn node_is_refused_with_the_fix() {
    insta::assert_snapshot!(table(&[
        "node: { listen: 0.0.0.0:7420 }\n",
        "node: { listen: localhost }\n",
        "node: { listen: 7420 }\n",
        "node: { behind_proxy: yes }\n",
        "node: { hosts: [https://node.example, a b, ''] }\n",
        "node: { hosts: node.example }\n",
        "node: { storage_floor: 64 MB }\n",
        "node: { data_dir: }\n",
        "node: [1]\n",
        "node:\n  listen: 0.0.0.0:7420\n  tls: { cert_file: c.pem, keyfile: k.pem }\n",
        "node:\n  run_as: plugins\n  lisen: 127.0.0.1:1\n",
        "nodes: {}\nfrobnicate: 1\n",
        "just a text\n",
    ]), @r#"
    node: { listen: 0.0.0.0:7420 }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:17: node.listen: 0.0.0.0:7420 can be reached from other machines, where tokens would travel in clear; listen on a loopback address, or set behind_proxy: true if a proxy that ends TLS stands before the node

    node: { listen: localhost }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:17: node.listen: the text "localhost" can't be used here; write an IP address and a port such as 127.0.0.1:7420

    node: { listen: 7420 }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:17: node.listen: the number 7420 can't be used here; write an IP address and a port such as 127.0.0.1:7420

    node: { behind_proxy: yes }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:23: node.behind_proxy: the text "yes" can't be used here; write true or false

    node: { hosts: [https://node.example, a b, ''] }
      => treewarden.yaml has 3 errors:
      treewarden.yaml:1:17: node.hosts[0]: the text "https://node.example" can't be used here; write a host name without scheme, port and path, such as node.example
      treewarden.yaml:1:39: node.hosts[1]: the text "a b" can't be used here; write a host name without scheme, port and path, such as node.example
      treewarden.yaml:1:44: node.hosts[2]: an empty text can't be used here; write a host name without scheme, port and path, such as node.example

    node: { hosts: node.example }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:16: node.hosts: the text "node.example" can't be used here; write a list of host names such as [node.example]

    node: { storage_floor: 64 MB }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:24: node.storage_floor: "64 MB" is no size: write a number of bytes, or one with KiB, MiB, GiB or TiB, such as "256 MiB"

    node: { data_dir: }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:9: node.data_dir: an empty value can't be used here; write a path

    node: [1]
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:1: node: a list can't be used here; write a map of keys and values

    node:
         listen: 0.0.0.0:7420
         tls: { cert_file: c.pem, keyfile: k.pem }
      => treewarden.yaml has 3 errors:
      treewarden.yaml:3:3: node.tls: is not available in this version yet; remove it, and let a proxy that ends TLS stand before the node (behind_proxy: true)
      treewarden.yaml:3:3: node.tls.key_file: is missing; name the file of the private key
      treewarden.yaml:3:28: node.tls.keyfile: unknown key; did you mean key_file?

    node:
         run_as: plugins
         lisen: 127.0.0.1:1
      => treewarden.yaml has 2 errors:
      treewarden.yaml:2:11: node.run_as: is not available in this version yet; remove it: plugins run as the node's user
      treewarden.yaml:3:3: node.lisen: unknown key; did you mean listen?

    nodes: {}
       frobnicate: 1
      => treewarden.yaml has 2 errors:
      treewarden.yaml:1:1: nodes: unknown key; did you mean node?
      treewarden.yaml:2:1: frobnicate: unknown key; known here: node, runners, entries

    just a text
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:1: the document: the text "just a text" can't be used here; write a map of keys and values
    "#);
    let folder = folder();
    assert!(
        load_text(
            &folder,
            "node: { listen: 0.0.0.0:7420, behind_proxy: true }"
        )
        .is_ok()
    );
    assert!(load_text(&folder, "node: { listen: '[::1]:0' }").is_ok());
}

/// SUP-27
#[test]
fn lease_and_margin_are_refused_by_key_and_value() {
    let values = [
        "0 seconds",
        "-1 second",
        "infinity",
        ".inf",
        "99999999999999999999 seconds",
        "''",
        "",
        "15",
        "0",
        "soon",
        "1e999",
        "400 days",
    ];
    let file = |key: &str, value: &str| {
        format!("runners:\n  edge-1:\n    connect: unix:/run/r.sock\n    {key}: {value}\n")
    };
    let files: Vec<String> = values.iter().map(|value| file("lease", value)).collect();
    for (value, text) in values.iter().zip(&files) {
        let said = said(text);
        assert!(
            said.contains("treewarden.yaml:4:") && said.contains("runners.edge-1.lease: "),
            "{said}"
        );
        assert!(said.contains(value.trim_matches('\'')), "{said}");
        assert!(self::said(&file("margin", value)).contains("runners.edge-1.margin: "));
    }
    insta::assert_snapshot!(table(&files.iter().map(String::as_str).collect::<Vec<_>>()), @r#"
    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: 0 seconds
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "0 seconds" must be longer than zero

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: -1 second
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "-1 second" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: infinity
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "infinity" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: .inf
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: ".inf" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: 99999999999999999999 seconds
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "99999999999999999999 seconds" is no duration: number is too large or cannot be represented without a lack of precision (values below 1ns are not supported); write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: ''
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "" is no duration: value was empty; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease:
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:5: runners.edge-1.lease: an empty value can't be used here; write a duration such as "30 seconds"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: 15
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "15" is no duration: time unit needed, for example 15sec or 15ms; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: 0
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "0" is no duration: time unit needed; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: soon
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "soon" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: 1e999
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "1e999" is no duration: unknown time unit "e", supported units: ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations); write a number with a unit, such as "30 seconds", "500 millis" or "2m"

    runners:
         edge-1:
           connect: unix:/run/r.sock
           lease: 400 days
      => treewarden.yaml has 1 error:
      treewarden.yaml:4:12: runners.edge-1.lease: "400 days" is longer than a year, the most that is accepted
    "#);
}

#[test]
fn runners_are_refused_with_the_fix() {
    insta::assert_snapshot!(table(&[
        "runners: { edge-1: {} }\n",
        "runners: { edge-1: { connect: https://host:7421 } }\n",
        "runners: { edge-1: { connect: http://host } }\n",
        "runners: { edge-1: { connect: https://host/path, token_file: t } }\n",
        "runners: { edge-1: { connect: 'unix:' } }\n",
        "runners: { edge-1: { connect: tcp, grace: 1s } }\n",
        "runners: { Edge: { connect: unix:/r } }\n",
        "runners: [edge-1]\n",
    ]), @r#"
    runners: { edge-1: {} }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:12: runners.edge-1.connect: is missing; say where the runner listens: unix:PATH or https://HOST:PORT

    runners: { edge-1: { connect: https://host:7421 } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:12: runners.edge-1.token_file: is missing; https needs one: name the file that holds the runner's token

    runners: { edge-1: { connect: http://host } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:31: runners.edge-1.connect: "http://host" would send the token in clear; write https://HOST:PORT

    runners: { edge-1: { connect: https://host/path, token_file: t } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:31: runners.edge-1.connect: "https://host/path" names no host and port; write https://HOST:PORT

    runners: { edge-1: { connect: 'unix:' } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:31: runners.edge-1.connect: "unix:" names no socket; write unix:PATH

    runners: { edge-1: { connect: tcp, grace: 1s } }
      => treewarden.yaml has 2 errors:
      treewarden.yaml:1:31: runners.edge-1.connect: "tcp" is no address of a runner; write unix:PATH or https://HOST:PORT
      treewarden.yaml:1:36: runners.edge-1.grace: unknown key; known here: connect, token_file, ca_file, lease, margin

    runners: { Edge: { connect: unix:/r } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:12: runners.Edge: name "Edge" must consist of a-z, 0-9 and '-' and begin with a letter or digit

    runners: [edge-1]
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:1: runners: a list can't be used here; write a map of names
    "#);
}

#[test]
fn entries_are_refused_with_place_and_fix() {
    insta::assert_snapshot!(table(&[
        "entries:\n  ledger:\n    comand: [./ledger]\n",
        "entries:\n  ledger: { command: [] }\n",
        "entries:\n  ledger:\n",
        "entries:\n  ledger: { command: [./gone] }\n",
        "entries:\n  ledger: { command: [./plain] }\n",
        "entries:\n  ledger: { command: [../] }\n",
        "entries:\n  ledger: { command: [no-such-program] }\n",
        "entries:\n  ledger: { command: [sh], env: { PATH: /nowhere } }\n",
        "entries:\n  ledger: { command: [./ledger], env: { KEY: { file: gone } } }\n",
        "entries:\n  ledger: { command: [./ledger], env: { TREEWARDEN_X: a } }\n",
        "entries:\n  ledger: { command: [./ledger], shutdown_timeout: 9 seconds }\n",
        "entries:\n  ledger: { run: runner, runner: edge-1, instance: a, command: [./far-away] }\n",
        "entries:\n  ledger: { run: worker, module: ledger.wasm }\n",
        "entries:\n  ledger: { package: acme.ledger@1.0.0 }\n",
        "entries:\n  ledger: { command: [./ledger], run_as: plugins }\n",
        "entries:\n  ledger: { command: [./ledger], config: { a: .nan, b: [-.inf], c: 123456789012345678901234 } }\n",
        "entries:\n  ledger: { command: [./ledger], retry: { initial: 1 minute, factor: 0.9, restarts: 10001 } }\n",
        "entries:\n  Ledger: { command: [./ledger] }\n  managed-a: { command: [./ledger] }\n",
        "entries: 3\n",
    ]), @r#"
    entries:
         ledger:
           comand: [./ledger]
      => treewarden.yaml has 2 errors:
      treewarden.yaml:2:3: entries.ledger.command: is missing; name the program and its arguments, such as command: [./ledger, --verbose]
      treewarden.yaml:3:5: entries.ledger.comand: unknown key; did you mean command?

    entries:
         ledger: { command: [] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:13: entries.ledger.command: is empty; name the program and its arguments, such as [./ledger, --verbose]

    entries:
         ledger:
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:3: entries.ledger.command: is missing; name the program and its arguments, such as command: [./ledger, --verbose]

    entries:
         ledger: { command: [./gone] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:23: entries.ledger.command[0]: "./gone" does not exist; name the plugin's program

    entries:
         ledger: { command: [./plain] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:23: entries.ledger.command[0]: "./plain" is not executable (chmod +x); name the plugin's program

    entries:
         ledger: { command: [../] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:23: entries.ledger.command[0]: "../" is not a regular file; name the plugin's program

    entries:
         ledger: { command: [no-such-program] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:23: entries.ledger.command[0]: no program "no-such-program" in the plugin's PATH; write its path, or set PATH in env

    entries:
         ledger: { command: [sh], env: { PATH: /nowhere } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:23: entries.ledger.command[0]: no program "sh" in the plugin's PATH; write its path, or set PATH in env

    entries:
         ledger: { command: [./ledger], env: { KEY: { file: gone } } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:54: entries.ledger.env.KEY.file: "gone" does not exist; name the file that holds the value

    entries:
         ledger: { command: [./ledger], env: { TREEWARDEN_X: a } }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:55: entries.ledger.env.TREEWARDEN_X: variables beginning with TREEWARDEN_ are the node's own; choose another name

    entries:
         ledger: { command: [./ledger], shutdown_timeout: 9 seconds }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:52: entries.ledger.shutdown_timeout: is fixed at 5 seconds for entries in the file; remove it, or declare the entry through the API, where it can be set

    entries:
         ledger: { run: runner, runner: edge-1, instance: a, command: [./far-away] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:18: entries.ledger.run: "runner" is not available in this version yet; write run: local

    entries:
         ledger: { run: worker, module: ledger.wasm }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:18: entries.ledger.run: "worker" is not available in this version yet; write run: local

    entries:
         ledger: { package: acme.ledger@1.0.0 }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:22: entries.ledger.package: is not available in this version yet; name a command instead

    entries:
         ledger: { command: [./ledger], run_as: plugins }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:42: entries.ledger.run_as: is not available in this version yet; remove it: plugins run as the node's user

    entries:
         ledger: { command: [./ledger], config: { a: .nan, b: [-.inf], c: 123456789012345678901234 } }
      => treewarden.yaml has 3 errors:
      treewarden.yaml:2:47: entries.ledger.config.a: ".nan" is no finite number; write one, or put it in quotes
      treewarden.yaml:2:57: entries.ledger.config.b[0]: "-.inf" is no finite number; write one, or put it in quotes
      treewarden.yaml:2:68: entries.ledger.config.c: "123456789012345678901234" has more digits than a number can hold; put it in quotes

    entries:
         ledger: { command: [./ledger], retry: { initial: 1 minute, factor: 0.9, restarts: 10001 } }
      => treewarden.yaml has 3 errors:
      treewarden.yaml:2:52: entries.ledger.retry.initial: the first wait (1m) is longer than the longest (30s); max is 30 seconds unless set; lower initial or raise max
      treewarden.yaml:2:70: entries.ledger.retry.factor: 0.9 must be from 1 (every wait the same) to 1000; 2 doubles each wait
      treewarden.yaml:2:85: entries.ledger.retry.restarts: 10001 must be a whole number from 0 to 10000

    entries:
         Ledger: { command: [./ledger] }
         managed-a: { command: [./ledger] }
      => treewarden.yaml has 2 errors:
      treewarden.yaml:2:3: entries.Ledger: name "Ledger" must consist of a-z, 0-9 and '-' and begin with a letter or digit
      treewarden.yaml:3:3: entries.managed-a: name "managed-a" begins with "managed-", which is reserved

    entries: 3
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:10: entries: the number 3 can't be used here; write a map of names
    "#);
}

/// SUP-03
#[test]
fn graph_is_checked_last_and_points_at_the_services() {
    insta::assert_snapshot!(table(&[
        "entries:\n  a: { command: [./ledger], provides: [sa], uses: [sb] }\n  b: { command: [./ledger], provides: [sb], uses: [sa] }\n",
        "entries:\n  a: { command: [./ledger], uses: [known, gone] }\n  b: { command: [./ledger], provides: [known] }\n",
        "entries:\n  a: { command: [./ledger], provides: [s] }\n  b: { command: [./ledger], provides: [t, s] }\n",
        "entries:\n  a: { command: [./ledger], provides: [s, s], uses: [s] }\n",
        // What b provides is not known: nothing is said of a's use of it.
        "entries:\n  a: { command: [./ledger], uses: [s] }\n  b: { command: [./ledger], provides: [s, T] }\n",
        // A wrong command does not hide what is wrong with the services.
        "entries:\n  a: { command: [], uses: [s] }\n",
    ]), @r#"
    entries:
         a: { command: [./ledger], provides: [sa], uses: [sb] }
         b: { command: [./ledger], provides: [sb], uses: [sa] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:52: entries.a.uses[0]: entries depend on each other in a cycle: a uses b uses a; remove one of these uses

    entries:
         a: { command: [./ledger], uses: [known, gone] }
         b: { command: [./ledger], provides: [known] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:43: entries.a.uses[1]: entry a uses service gone, which no entry provides; add gone to the provides of an entry, or remove it from the uses of a

    entries:
         a: { command: [./ledger], provides: [s] }
         b: { command: [./ledger], provides: [t, s] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:3:43: entries.b.provides[1]: service s is provided by a and b; let only one of them provide it

    entries:
         a: { command: [./ledger], provides: [s, s], uses: [s] }
      => treewarden.yaml has 2 errors:
      treewarden.yaml:2:43: entries.a.provides[1]: entry a names service s more than once in its provides; name it once
      treewarden.yaml:2:54: entries.a.uses[0]: entry a uses a service that it provides itself; remove one of these uses

    entries:
         a: { command: [./ledger], uses: [s] }
         b: { command: [./ledger], provides: [s, T] }
      => treewarden.yaml has 1 error:
      treewarden.yaml:3:43: entries.b.provides[1]: name "T" must consist of a-z, 0-9 and '-' and begin with a letter or digit

    entries:
         a: { command: [], uses: [s] }
      => treewarden.yaml has 2 errors:
      treewarden.yaml:2:8: entries.a.command: is empty; name the program and its arguments, such as [./ledger, --verbose]
      treewarden.yaml:2:28: entries.a.uses[0]: entry a uses service s, which no entry provides; add s to the provides of an entry, or remove it from the uses of a
    "#);
}

#[test]
fn all_errors_are_reported_together_in_the_order_of_the_file() {
    insta::assert_snapshot!(said(
        "entries:\n  writer:\n    command: [./writer]\n    retry:\n      initial: never\n      initial: 2m\n  ledger:\n    command: 3\n    uses: [gone]\nnode:\n  hosts: [1]\nrunners:\n  r: { connect: '', lease: 0s }\nentries: {}\n"
    ), @r#"
    treewarden.yaml has 8 errors:
      treewarden.yaml:5:16: entries.writer.retry.initial: "never" is no duration: expected number at 0; write a number with a unit, such as "30 seconds", "500 millis" or "2m"
      treewarden.yaml:6:7: entries.writer.retry.initial: is set already in line 5; keep one of them
      treewarden.yaml:8:14: entries.ledger.command: the number 3 can't be used here; write a list such as [./ledger, --verbose]
      treewarden.yaml:9:12: entries.ledger.uses[0]: entry ledger uses service gone, which no entry provides; add gone to the provides of an entry, or remove it from the uses of ledger
      treewarden.yaml:11:11: node.hosts[0]: the number 1 can't be used here; write a host name without scheme, port and path, such as node.example
      treewarden.yaml:13:17: runners.r.connect: an empty text can't be used here; write unix:PATH or https://HOST:PORT
      treewarden.yaml:13:28: runners.r.lease: "0s" must be longer than zero
      treewarden.yaml:14:1: entries: is set already in line 1; keep one of them
    "#);
    let many: String = (0..60).map(|number| format!("key-{number}: 1\n")).collect();
    assert!(said(&many).ends_with("\n  and 10 more"));
}

#[test]
fn what_is_no_yaml_is_refused_with_its_place() {
    insta::assert_snapshot!(table(&[
        "node: { listen: [ }\n",
        "node:\n\tlisten: x\n",
        "a: *nowhere\n",
        "a: 1\n---\nb: 2\n",
        "a: !mine 1\n",
        "? [a, b]\n: 1\n",
        "'unfinished\n",
    ]), @r#"
    node: { listen: [ }
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:17: not readable as YAML: mismatched bracket '[' closed by '}'

    node:
       	listen: x
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:2: not readable as YAML: tabs disallowed within this context (block indentation)

    a: *nowhere
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:4: not readable as YAML: alias references unknown anchor

    a: 1
       ---
       b: 2
      => treewarden.yaml has 1 error:
      treewarden.yaml:2:1: not readable as YAML: a second document begins here; keep one to a file

    a: !mine 1
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:10: not readable as YAML: unsupported tag `!mine`

    ? [a, b]
       : 1
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:3: not readable as YAML: a key must be a text

    'unfinished
      => treewarden.yaml has 1 error:
      treewarden.yaml:1:1: not readable as YAML: unclosed quote
    "#);
    let folder = folder();
    let path = folder.path().join("treewarden.yaml");
    fs::write(&path, b"node:\n  hosts: [\xff]\n").expect("written");
    assert!(
        load(&path)
            .expect_err("not UTF-8")
            .to_string()
            .ends_with("line 2 is not UTF-8; save the file as UTF-8")
    );
}

/// No message repeats what stands in `env`, whatever is wrong with the file.
#[test]
fn secrets_of_the_file_are_in_no_message() {
    let folder = folder();
    for text in [
        "entries:\n  a:\n    env: { KEY: hunter2, KEY: hunter2 }\n",
        "entries:\n  a:\n    env: { KEY: [hunter2] }\n",
        "entries:\n  a:\n    env: hunter2\n",
        "entries:\n  a:\n    env: { KEY: 'hunter2 }\n",
        "entries:\n  a:\n    env: { KEY: hunter2\n  b: [\n",
        "entries:\n  a:\n    env:\n      KEY: hunter2\n     B: x\n",
        "entries:\n  a:\n    env: { KEY: !x hunter2 }\n",
        "entries:\n  a:\n    env: { KEY: !!int hunter2 }\n",
        "entries:\n  a:\n    env: { KEY: \"hunter2\\q\" }\n",
        "entries:\n  a:\n    env: { KEY: \"hunter2\\0\" }\n",
    ] {
        let error = load_text(&folder, text).expect_err(text);
        assert!(
            !error.to_string().contains("hunter2") && !format!("{error:?}").contains("hunter2"),
            "{error}"
        );
    }
}

#[test]
fn bombs_are_refused_quickly() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let deep = format!("entries: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!("entries: [{}]", "1,".repeat(1_000_000));
    for (what, text) in [("aliases", laughs), ("depth", deep), ("width", wide)] {
        let folder = folder();
        assert!(
            matches!(load_text(&folder, &text), Err(ConfigError::Invalid { .. })),
            "{what}"
        );
    }
    let folder = folder();
    let huge = "#".repeat(usize::try_from(FILE_BYTES_MAX).expect("fits") + 1);
    assert!(matches!(
        load_text(&folder, &huge),
        Err(ConfigError::TooLarge { .. })
    ));
    let many: String = (0..4097)
        .map(|number| format!("  e{number}: {{ command: [./ledger] }}\n"))
        .collect();
    assert!(
        load_text(&folder, &format!("entries:\n{many}"))
            .expect_err("too many")
            .to_string()
            .contains("4097 entries")
    );
}

#[test]
fn only_a_regular_file_is_read() {
    let folder = folder();
    for path in [
        folder.path().to_owned(),
        folder.path().join("gone"),
        PathBuf::from("/dev/null"),
    ] {
        let error = load(&path).expect_err("no file");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}

fn any_yaml() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "node", "entries", "runners", "command", "env", ":", ": ", "\n", "\n  ", "\n    ", "- ",
        "[", "]", "{", "}", ", ", "&a ", "*a", "!!int ", "'", "\"", "|", ">", "<<", "? ", "#",
        "---", "...", "~", "1", "-1", "1e999", ".nan", "0x", "true", "sh", "\t", "\u{feff}",
        "\u{0}", "ä", "%YAML", "\\x",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(parse(&bytes, &Folder::of(Path::new("/nowhere/treewarden.yaml")).expect("absolute")));
    }

    #[test]
    fn anything_like_yaml_is_read_or_refused(text in any_yaml()) {
        drop(parse(text.as_bytes(), &Folder::of(Path::new("/nowhere/treewarden.yaml")).expect("absolute")));
    }

    /// A good file with some bytes changed, or cut off.
    #[test]
    fn damaged_file_is_read_or_refused(changes in prop::collection::vec((0usize..1200, any::<u8>()), 1..4), length in 0usize..1200) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        bytes.truncate(length);
        drop(parse(&bytes, &Folder::of(Path::new("/nowhere/treewarden.yaml")).expect("absolute")));
    }
}
