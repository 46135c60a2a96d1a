//! Starting the binary.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use super::Options;
use crate::wait::Stopwatch;
use crate::{binaries, wait_for};

/// `serve` on this directory, tied to the life of the calling thread: a test that is killed leaves no node.
fn serve(directory: &Path, options: &Options) -> Command {
    let mut command = Command::new(binaries::faulty_plugin());
    command
        .args(["--as", "guard"])
        .args(&options.wrapper)
        .arg(binaries::treewarden());
    let listen = options.listen.as_deref().unwrap_or("127.0.0.1:0");
    command.args(["serve", "--listen", listen, "--log-format", "json"]);
    command.arg("--data-dir").arg(directory.join("data"));
    if !options.without_config {
        command
            .arg("--config")
            .arg(directory.join("treewarden.yaml"));
    }
    command
        .args(&options.arguments)
        .envs(options.environment.iter().cloned());
    command
        .env_remove("TREEWARDEN_URL")
        .env_remove("TREEWARDEN_TOKEN");
    command
        .stdin(Stdio::null())
        .process_group(0)
        .current_dir(directory);
    command
}

/// Starts the node; logs append to `node.log`, `node.out` is new.
pub(super) fn spawn(directory: &Path, options: &Options) -> Child {
    let append = |name: &str| {
        File::options()
            .create(true)
            .append(true)
            .open(directory.join(name))
    };
    let log = if options.stalled_log {
        Stdio::piped()
    } else {
        append("node.log").expect("the log opens").into()
    };
    let out = File::create(directory.join("node.out")).expect("the output opens");
    serve(directory, options)
        .stdout(out)
        .stderr(log)
        .spawn()
        .expect("the node's program starts")
}

/// Waits for the ready line, and gives its address.
pub(super) fn wait_ready(
    child: &mut Child,
    directory: &Path,
    bound: Duration,
) -> Result<String, String> {
    let watch = Stopwatch::start();
    loop {
        let output = std::fs::read_to_string(directory.join("node.out")).unwrap_or_default();
        if let Some(line) = output.strip_suffix('\n') {
            let url = line.strip_prefix("treewarden ready on ");
            return url
                .map(str::to_owned)
                .ok_or_else(|| format!("its first output is {line:?}"));
        }
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Err(format!("it ended with {status}"));
        }
        if watch.elapsed() > bound {
            return Err(format!("no ready line within {bound:?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs `serve` until it ends by itself.
pub(super) fn run_to_end(directory: &Path, options: &Options) -> Output {
    let mut command = serve(directory, options);
    to_end(
        command.stdout(Stdio::piped()).stderr(Stdio::piped()),
        Duration::from_secs(30),
    )
}

/// Runs the binary with these arguments in an empty directory, without a node's address or token in its environment.
pub(crate) fn plain(arguments: &[&str], bound: Duration) -> Output {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new(binaries::treewarden());
    command
        .args(arguments)
        .current_dir(&directory)
        .env_remove("TREEWARDEN_URL")
        .env_remove("TREEWARDEN_TOKEN");
    to_end(
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
        bound,
    )
}

/// Runs a client command.
pub(super) fn client(url: &str, token_file: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::treewarden());
    command
        .args(arguments)
        .arg("--url")
        .arg(url)
        .arg("--token-file")
        .arg(token_file);
    command
        .env_remove("TREEWARDEN_URL")
        .env_remove("TREEWARDEN_TOKEN")
        .stdin(Stdio::null());
    to_end(
        command.stdout(Stdio::piped()).stderr(Stdio::piped()),
        Duration::from_secs(90),
    )
}

fn to_end(command: &mut Command, bound: Duration) -> Output {
    let mut child = command.spawn().expect("the program starts");
    // Read aside, so that an output larger than a pipe does not hold the program up.
    let out = child.stdout.take().map(read_aside);
    let err = child.stderr.take().map(read_aside);
    let ended = Stopwatch::start();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if ended.elapsed() > bound {
            let _ = child.kill();
            let _ = child.wait();
            panic!("still running after {bound:?}: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let collected = |reader: Option<std::thread::JoinHandle<Vec<u8>>>| {
        let Some(reader) = reader else {
            return Vec::new();
        };
        wait_for(
            "the program's output ends with it",
            Duration::from_secs(10),
            || reader.is_finished().then_some(()),
        );
        reader.join().unwrap_or_default()
    };
    Output {
        status,
        stdout: collected(out),
        stderr: collected(err),
    }
}

fn read_aside(mut stream: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}
