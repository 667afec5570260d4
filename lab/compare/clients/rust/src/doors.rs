//! TLS and WebSocket.

use async_nats::ConnectOptions;

use crate::messages::answer;
use crate::program::*;

fn trusting() -> ConnectOptions {
    options().add_root_certificates("ca.pem".into())
}

fn with_certificate(name: &str) -> ConnectOptions {
    trusting().add_client_certificate(format!("{name}.pem").into(), format!("{name}-key.pem").into())
}

/// Says that messages go through this door.
async fn echo(options: ConnectOptions) {
    let nc = connect(options).await;
    let mut sub = subscribe(&nc, "echo").await;
    publish(&nc, "echo", "through this door").await;
    take("echo", &mut sub, 1).await;
    close(nc).await;
}

pub async fn tls() {
    attempt("with the authority", url(), trusting()).await;
    refused("without", url(), options()).await;
    refused("with another", url(), options().add_root_certificates("other-ca.pem".into())).await;
    attempt("by tls://", url().replace("nats://", "tls://"), trusting()).await;
    attempt("required", url(), trusting().require_tls(true)).await;
    echo(trusting()).await;
}

pub async fn tls_verify() {
    attempt("with a certificate", url(), with_certificate("client")).await;
    refused("without", url(), trusting()).await;
    echo(with_certificate("client")).await;
}

pub async fn tls_first() {
    attempt("at once", url(), trusting().tls_first()).await;
    attempt("after INFO", url(), trusting().connection_timeout(5 * QUIET)).await;
    echo(trusting().tls_first()).await;
}

pub async fn tls_mixed() {
    echo(options()).await;
    echo(trusting().require_tls(true)).await;
}

pub async fn tls_map() {
    attempt("a user", url(), with_certificate("client")).await;
    attempt("nobody", url(), with_certificate("unknown")).await;
    refused("without", url(), trusting()).await;
    let (mut events, with) = Events::new(with_certificate("client"));
    let nc = connect(with).await;
    events.until("connected").await;
    let mut sub = subscribe(&nc, "fleet.>").await;
    publish(&nc, "fleet.a", "permitted").await;
    publish(&nc, "other", "not permitted").await;
    take("fleet.>", &mut sub, 1).await;
    events.until("server error").await;
    close(nc).await;
}

pub async fn websocket() {
    let nc = connect(options()).await;
    let mut sub = subscribe(&nc, "web.>").await;
    for n in [0, 1, 125, 126, 65_535, 65_536, 300_000] {
        publish(&nc, "web.size", &"w".repeat(n)).await;
    }
    for _ in 0..7 {
        let m = next(&mut sub).await;
        say!("{}: {} bytes, all: {}", m.subject, m.payload.len(), m.payload.iter().all(|b| *b == b'w'));
    }
    let plain = options().connect(plain_url()).await.expect("plain");
    publish(&plain, "web.plain", "from the other door").await;
    take("web.>", &mut sub, 1).await;
    answer(&plain, "answer", "yes").await;
    flush(&plain).await;
    request(&nc, "answer", "").await;
    request(&nc, "nobody", "").await;
    close(plain).await;
    close(nc).await;
}

pub async fn websocket_tls() {
    let user = |options: ConnectOptions, name: &str| options.user_and_password(name.into(), name.into());
    attempt("alice by the web", url(), user(trusting(), "alice")).await;
    attempt("bob by the web", url(), user(trusting(), "bob")).await;
    attempt("alice plain", plain_url(), user(options(), "alice")).await;
    attempt("bob plain", plain_url(), user(options(), "bob")).await;
    refused("without the authority", url(), user(options(), "alice")).await;
    echo(user(trusting(), "alice")).await;
}
