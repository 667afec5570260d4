//! Limits of the server.

use std::time::Duration;

use async_nats::HeaderMap;
use tokio::time::sleep;

use crate::program::*;

pub async fn payload() {
    let nc = connect(options()).await;
    let most = "x".repeat(nc.max_payload());
    say!("max payload: {}", most.len());
    let mut sub = subscribe(&nc, "p").await;
    publish(&nc, "p", &most).await;
    publish(&nc, "p", &format!("{most}x")).await;
    request(&nc, "p", &format!("{most}x")).await;
    say!("got {} bytes, more: {}", next(&mut sub).await.payload.len(), count(&mut sub).await.0);
    close(nc).await;
    // Where this client does not count the header, the server does.
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    events.until("connected").await;
    let mut headers = HeaderMap::new();
    headers.insert("A", "b");
    match nc.publish_with_headers("p", headers, most.into()).await {
        Ok(()) => events.until("connected").await,
        Err(e) => say!("with a header: {e}"),
    }
    close(nc).await;
}

pub async fn max_connections() {
    let nc = connect(options()).await;
    refused("second", url(), options()).await;
    flush(&nc).await;
    close(nc).await;
    // The server may see the end of the first a moment later.
    for _ in 0..1000 {
        if let Ok(third) = options().connect(url()).await {
            say!("third");
            return close(third).await;
        }
        sleep(Duration::from_millis(10)).await;
    }
    say!("never third");
}

pub async fn max_subscriptions() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    events.until("connected").await;
    let mut first = subscribe(&nc, "s.1").await;
    let mut second = subscribe(&nc, "s.2").await;
    settle(&nc).await;
    events.none().await;
    let mut third = subscribe(&nc, "s.3").await;
    events.until("server error").await;
    for subject in ["s.1", "s.2", "s.3"] {
        publish(&nc, subject, "x").await;
    }
    take("s.1", &mut first, 1).await;
    take("s.2", &mut second, 1).await;
    say!("third: {}", count(&mut third).await.0);
    first.unsubscribe().await.expect("unsubscribe");
    let mut fourth = subscribe(&nc, "s.4").await;
    publish(&nc, "s.4", "in its place").await;
    take("s.4", &mut fourth, 1).await;
    close(nc).await;
    events.until("closed").await;
}
