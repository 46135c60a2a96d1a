//! The server on a real socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use treewarden_actors::EdgePhase;

use super::Edge;
use crate::edge::serve;
use crate::limits::CONNECTIONS;

const BOUND: Duration = Duration::from_secs(10);

struct Served {
    address: SocketAddr,
    edge: Edge,
    taken: Arc<std::sync::atomic::AtomicUsize>,
    task: JoinSet<std::io::Result<()>>,
}

fn served() -> Served {
    let edge = Edge::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let taken = Arc::default();
    let server = serve(
        listener,
        edge.router.clone(),
        Arc::clone(&taken),
        edge.phase.subscribe(),
    );
    let mut task = JoinSet::new();
    task.spawn(server);
    Served {
        address,
        edge,
        taken,
        task,
    }
}

const LIVE: &[u8] = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Reads until the bytes end with `end`.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = Vec::new();
    let read = async {
        while !text.ends_with(end.as_bytes()) {
            let byte = stream.read_u8().await.unwrap();
            text.push(byte);
        }
    };
    timeout(BOUND, read).await.expect("an answer");
    String::from_utf8(text).unwrap()
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    timeout(BOUND, stream.read_to_string(&mut text))
        .await
        .expect("the connection is closed")
        .ok();
    text
}

#[tokio::test]
async fn connections_are_kept_and_requests_may_follow_at_once() {
    let served = served();
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(&LIVE.repeat(3)).await.unwrap();
    for _ in 0..3 {
        assert!(
            read_until(&mut stream, "{\"status\":\"live\"}")
                .await
                .starts_with("HTTP/1.1 200 OK\r\n")
        );
    }
}

#[tokio::test]
async fn closing_ends_idle_connections_and_the_server() {
    let mut served = served();
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    idle.write_all(LIVE).await.unwrap();
    read_until(&mut idle, "}").await;
    served.edge.phase.send_replace(EdgePhase::Closed);
    assert_eq!(rest(&mut idle).await, "");
    timeout(BOUND, served.task.join_next())
        .await
        .expect("it ends")
        .unwrap()
        .unwrap()
        .unwrap();
    TcpStream::connect(served.address).await.unwrap_err();
}

#[tokio::test]
async fn dropping_the_server_closes_its_connections() {
    let served = served();
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    idle.write_all(LIVE).await.unwrap();
    read_until(&mut idle, "}").await;
    drop(served.task);
    assert_eq!(rest(&mut idle).await, "");
}

#[tokio::test]
async fn nonsense_ends_its_connection_and_no_other() {
    let served = served();
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(nonsense).await.unwrap();
        stream.shutdown().await.unwrap();
        rest(&mut stream).await;
    }
    let endless = vec![b'x'; 1 << 20];
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nhost: ")
        .await
        .unwrap();
    stream.write_all(&endless).await.ok();
    rest(&mut stream).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(LIVE).await.unwrap();
    read_until(&mut stream, "}").await;
}

/// The client writes all of it before it reads.
#[tokio::test]
async fn body_that_is_too_long_is_answered_though_the_client_writes_on() {
    let served = served();
    let head = |rest: &str| {
        format!(
            "POST /api/console/reload HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer all\r\n{rest}\r\n\r\n"
        )
    };
    let length = 9 << 20;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream
        .write_all(head(&format!("content-length: {length}")).as_bytes())
        .await
        .unwrap();
    stream.write_all(&vec![b' '; length]).await.unwrap();
    assert!(rest(&mut stream).await.starts_with("HTTP/1.1 413 "));
    // Who asks first is told before it sends anything.
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream
        .write_all(head(&format!("content-length: {length}\r\nexpect: 100-continue")).as_bytes())
        .await
        .unwrap();
    assert!(rest(&mut stream).await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test]
async fn connection_without_a_place_is_told_so() {
    let served = served();
    served
        .taken
        .store(CONNECTIONS, std::sync::atomic::Ordering::Relaxed);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 429 ") && answer.ends_with("\"limit\":4096}"),
        "{answer}"
    );
    served.taken.store(0, std::sync::atomic::Ordering::Relaxed);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(LIVE).await.unwrap();
    read_until(&mut stream, "}").await;
    drop(stream);
    let freed = async {
        while served.taken.load(std::sync::atomic::Ordering::Relaxed) != 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(BOUND, freed)
        .await
        .expect("its place is free again");
}
