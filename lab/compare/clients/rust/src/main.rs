//! The comparison's program in async-nats: it plays one scenario against the
//! server of NATS_URL and prints what its user would notice.

mod credentials;
mod doors;
mod lifecycle;
mod limits;
mod messages;
mod program;
mod service;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "pubsub" => messages::pubsub().await,
        "queue" => messages::queue().await,
        "request" => messages::request().await,
        "headers" => messages::headers().await,
        "autounsub" => messages::autounsub().await,
        "info" => messages::info().await,
        "service" => service::service().await,
        "drain" => lifecycle::drain().await,
        "reconnect" => lifecycle::reconnect().await,
        "lameduck" => lifecycle::lameduck().await,
        "stale" => lifecycle::stale().await,
        "slow-server" => lifecycle::slow_server().await,
        "slow-client" => lifecycle::slow_client().await,
        "reload" => lifecycle::reload().await,
        "payload" => limits::payload().await,
        "max-connections" => limits::max_connections().await,
        "max-subscriptions" => limits::max_subscriptions().await,
        "token" => credentials::token().await,
        "password" => credentials::password().await,
        "bcrypt" => credentials::bcrypt().await,
        "nkey" => credentials::nkey().await,
        "anonymous" => credentials::anonymous().await,
        "permissions" => credentials::permissions().await,
        "responses" => credentials::responses().await,
        "tls" => doors::tls().await,
        "tls-verify" => doors::tls_verify().await,
        "tls-first" => doors::tls_first().await,
        "tls-mixed" => doors::tls_mixed().await,
        "tls-map" => doors::tls_map().await,
        "websocket" => doors::websocket().await,
        "websocket-tls" => doors::websocket_tls().await,
        _ => {
            eprintln!("no such scenario");
            std::process::exit(2);
        }
    }
}
