//! Starts the program `nats-server` on PATH, whatever it is, for the integration
//! tests of async-nats. They use a crate of this name that is not published; this
//! one has the functions that they call, and none of its code.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bounds each wait for a server.
const PATIENCE: Duration = Duration::from_secs(20);

/// The address follows this in the log.
const LISTENING: &str = "Listening for client connections on ";

/// The log holds this when the server takes connections.
const READY: &str = "Server is ready";

/// The names of the directories that servers of this process keep their files in.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A running server. It is killed, and its files are removed, when this is dropped.
pub struct Server {
    child: Child,
    dir: PathBuf,
}

/// Starts a server on any free port.
pub fn run_basic_server() -> Server {
    run_server("")
}

/// Starts a server with a configuration file, on any free port.
pub fn run_server(config: &str) -> Server {
    run_server_with_port(config, None)
}

/// Starts a server with a configuration file, none if it is empty.
pub fn run_server_with_port(config: &str, port: Option<&str>) -> Server {
    start(config, port, &[])
}

/// Tells a server to send its clients elsewhere.
pub fn set_lame_duck_mode(server: &Server) {
    let pid = fs::read_to_string(server.dir.join("pid")).expect("no pid file");
    let done = Command::new("nats-server")
        .arg("--signal")
        .arg(format!("ldm={pid}"))
        .status()
        .expect("nats-server does not start");
    assert!(done.success(), "--signal ldm: {done}");
}

/// Servers that know of each other.
pub struct Cluster {
    pub servers: Vec<Server>,
}

impl Cluster {
    /// Returns the address of the first server.
    pub fn client_url(&self) -> String {
        self.servers[0].client_url()
    }
}

/// Starts three servers that are connected with each other.
pub fn run_cluster(config: &str) -> Cluster {
    let seed = free_port();
    let listen = |port: String| {
        vec![
            "--cluster_name".to_string(),
            "conformance".to_string(),
            "--cluster".to_string(),
            format!("nats://127.0.0.1:{port}"),
            "--routes".to_string(),
            format!("nats://127.0.0.1:{seed}"),
        ]
    };
    let servers = (0..3)
        .map(|i| {
            let port = if i == 0 { seed.to_string() } else { "-1".to_string() };
            let name = vec!["--server_name".to_string(), format!("server{i}")];
            start(config, None, &[listen(port), name].concat())
        })
        .collect();
    Cluster { servers }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("no free port");
    listener.local_addr().expect("no address").port()
}

fn start(config: &str, port: Option<&str>, more: &[String]) -> Server {
    let n = NUMBER.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("conformance-{}-{n}", std::process::id()));
    fs::create_dir(&dir).expect("no directory");
    let mut command = Command::new("nats-server");
    command
        .arg("--store_dir")
        .arg(dir.join("store"))
        .args(["-p", port.unwrap_or("-1")])
        .arg("-l")
        .arg(dir.join("log"))
        .arg("-P")
        .arg(dir.join("pid"))
        .args(more)
        .stderr(Stdio::null())
        .stdout(Stdio::null());
    if !config.is_empty() {
        command.args(["-c", config]);
    }
    let child = command.spawn().expect("nats-server does not start");
    let mut server = Server { child, dir };
    server.wait(READY);
    server
}

impl Server {
    /// Returns the address for clients, with the scheme that the server asks for.
    pub fn client_url(&self) -> String {
        let scheme = if self.info().contains("\"tls_required\":true") { "tls" } else { "nats" };
        format!("{scheme}://{}", self.address())
    }

    /// Returns the port for clients.
    pub fn client_port(&self) -> u16 {
        let address = self.address();
        let (_, port) = address.rsplit_once(':').expect("no port in the log");
        port.parse().expect("not a port in the log")
    }

    /// Returns the process id.
    pub fn client_pid(&self) -> usize {
        self.child.id() as usize
    }

    /// Returns the address in the log, where a client of this machine reaches it.
    fn address(&self) -> String {
        let log = self.log();
        let (_, rest) = log.split_once(LISTENING).expect("no address in the log");
        let address = rest.lines().next().expect("no address in the log");
        address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "127.0.0.1")
    }

    /// Reads the first line that the server sends.
    fn info(&self) -> String {
        let stream = TcpStream::connect(self.address()).expect("no connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("no timeout");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("no INFO");
        line
    }

    fn log(&self) -> String {
        match fs::read_to_string(self.dir.join("log")) {
            Ok(text) => text,
            Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
            Err(err) => panic!("the log cannot be read: {err}"),
        }
    }

    /// Waits until the log holds the text.
    fn wait(&mut self, text: &str) {
        let start = Instant::now();
        while !self.log().contains(text) {
            if let Some(status) = self.child.try_wait().expect("no status") {
                panic!("the server ended: {status}\n{}", self.log());
            }
            assert!(start.elapsed() < PATIENCE, "no {text:?} in the log:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}
