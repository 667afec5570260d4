//! What the scenarios share: lines, the runner, connections, events.

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, Message, Subscriber};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// How long something may take that is expected.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing must come where nothing is expected.
pub const QUIET: Duration = Duration::from_millis(100);

macro_rules! say {
    ($($arg:tt)*) => { println!($($arg)*) };
}
pub(crate) use say;

pub fn url() -> String {
    std::env::var("NATS_URL").expect("NATS_URL")
}

pub fn plain_url() -> String {
    std::env::var("PLAIN_URL").expect("PLAIN_URL")
}

/// Has the runner do something, and waits until it is done.
pub async fn ask(what: &str) {
    say!("@{what}");
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("the runner");
        line
    });
    assert_eq!(line.await.expect("a line"), "done\n", "the runner has gone");
}

pub fn options() -> ConnectOptions {
    ConnectOptions::new().connection_timeout(PATIENCE)
}

pub async fn connect(options: ConnectOptions) -> Client {
    options.connect(url()).await.expect("connect")
}

/// Says whether a connection comes about, and ends it.
pub async fn attempt(what: &str, url: String, options: ConnectOptions) {
    match options.connect(url).await {
        Ok(nc) => {
            say!("{what}: connected");
            close(nc).await;
        }
        Err(e) => say!("{what}: {e}"),
    }
}

/// Says that a connection is refused, without the words: what the server says
/// comes in the middle of the client's own writes, and may be lost to them.
pub async fn refused(what: &str, url: String, options: ConnectOptions) {
    match options.connect(url).await {
        Ok(nc) => {
            say!("{what}: connected");
            close(nc).await;
        }
        Err(_) => say!("{what}: refused"),
    }
}

/// This client closes by draining.
pub async fn close(nc: Client) {
    let _ = nc.drain().await;
}

/// Returns when the server has everything: this client's flush waits for no
/// answer, so a message goes there and back.
pub async fn flush(nc: &Client) {
    let inbox = nc.new_inbox();
    let mut sub = nc.subscribe(inbox.clone()).await.expect("subscribe");
    nc.publish(inbox, "".into()).await.expect("publish");
    timeout(PATIENCE, sub.next()).await.expect("flush");
}

/// Is flush for who may not have an inbox.
pub async fn settle(nc: &Client) {
    nc.flush().await.expect("flush");
    sleep(QUIET).await;
}

pub async fn publish(nc: &Client, subject: &str, text: &str) {
    if let Err(e) = nc.publish(subject.to_string(), text.to_string().into()).await {
        say!("publish {subject}: {e}");
    }
}

pub async fn subscribe(nc: &Client, subject: &str) -> Subscriber {
    nc.subscribe(subject.to_string()).await.expect("subscribe")
}

pub async fn request(nc: &Client, subject: &str, text: &str) {
    match nc.request(subject.to_string(), text.to_string().into()).await {
        Ok(m) => say!("{subject}: {}", quoted(&m)),
        Err(e) => say!("{subject}: {e}"),
    }
}

pub fn quoted(m: &Message) -> String {
    format!("{:?}", String::from_utf8_lossy(&m.payload))
}

pub async fn next(sub: &mut Subscriber) -> Message {
    timeout(PATIENCE, sub.next()).await.expect("a message in time").expect("a message")
}

/// Says which n messages come, and whether more do.
pub async fn take(name: &str, sub: &mut Subscriber, n: usize) {
    for _ in 0..n {
        match timeout(PATIENCE, sub.next()).await {
            Ok(Some(m)) => say!("{name}: {} {}", m.subject, quoted(&m)),
            Ok(None) => return say!("{name}: ended"),
            Err(_) => return say!("{name}: nothing comes"),
        }
    }
    if let Ok(Some(m)) = timeout(QUIET, sub.next()).await {
        say!("{name}: one too many, {} {}", m.subject, quoted(&m));
    }
}

/// Counts what comes, and says whether the subscription has ended.
pub async fn count(sub: &mut Subscriber) -> (usize, bool) {
    let mut n = 0;
    loop {
        match timeout(QUIET, sub.next()).await {
            Ok(Some(_)) => n += 1,
            Ok(None) => return (n, true),
            Err(_) => return (n, false),
        }
    }
}

/// Collects what the client tells of a connection.
pub struct Events(mpsc::UnboundedReceiver<String>);

impl Events {
    pub fn new(options: ConnectOptions) -> (Events, ConnectOptions) {
        let (tell, told) = mpsc::unbounded_channel();
        let options = options
            .reconnect_delay_callback(|_| Duration::from_millis(20))
            .event_callback(move |event: Event| {
                let _ = tell.send(event.to_string());
                async {}
            });
        (Events(told), options)
    }

    /// Says what happens up to the event that begins so.
    pub async fn until(&mut self, prefix: &str) {
        loop {
            match timeout(PATIENCE, self.0.recv()).await {
                Ok(Some(event)) => {
                    // How often it tries in vain is a matter of time.
                    if !event.starts_with("client error: nats: IO error") {
                        say!("{event}");
                    }
                    if event.starts_with(prefix) {
                        return;
                    }
                }
                _ => return say!("no event {prefix}"),
            }
        }
    }

    pub async fn none(&mut self) {
        if let Ok(Some(event)) = timeout(QUIET, self.0.recv()).await {
            say!("unexpected: {event}");
        }
    }
}
