//! How connections end and begin again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::program::*;

fn slowly(mut sub: Subscriber, got: Arc<AtomicUsize>) -> JoinHandle<()> {
    tokio::spawn(async move {
        while sub.next().await.is_some() {
            sleep(Duration::from_millis(5)).await;
            got.fetch_add(1, Relaxed);
        }
    })
}

pub async fn drain() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    let other = connect(options()).await;
    let mut first = subscribe(&nc, "first").await;
    let got = Arc::new(AtomicUsize::new(0));
    let second = slowly(subscribe(&nc, "second").await, got.clone());
    flush(&nc).await;
    for _ in 0..20 {
        publish(&other, "first", "x").await;
    }
    flush(&other).await;
    first.drain().await.expect("drain");
    slowly(first, got.clone()).await.expect("first");
    say!("got {}", got.load(Relaxed));
    request(&other, "first", "").await;
    for _ in 0..20 {
        publish(&other, "second", "x").await;
    }
    flush(&other).await;
    nc.drain().await.expect("drain");
    events.until("closed").await;
    second.await.expect("second");
    say!("got {}", got.load(Relaxed));
    request(&other, "second", "").await;
    close(other).await;
}

pub async fn reconnect() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    events.until("connected").await;
    let mut sub = subscribe(&nc, "news.*").await;
    let mut short = subscribe(&nc, "short").await;
    short.unsubscribe_after(2).await.expect("limit");
    publish(&nc, "news.first", "before").await;
    publish(&nc, "short", "before").await;
    flush(&nc).await;
    take("news", &mut sub, 1).await;
    ask("stop").await;
    events.until("disconnected").await;
    publish(&nc, "news.away", "while away").await;
    ask("start").await;
    events.until("connected").await;
    publish(&nc, "news.back", "after").await;
    publish(&nc, "short", "after").await;
    publish(&nc, "short", "too much").await;
    flush(&nc).await;
    take("news", &mut sub, 2).await;
    say!("short: {}", count(&mut short).await.0);
    say!("connects: {}", nc.statistics().connects.load(Relaxed));
    close(nc).await;
    events.until("closed").await;
}

pub async fn lameduck() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    let mut sub = subscribe(&nc, "still").await;
    flush(&nc).await;
    ask("lameduck").await;
    events.until("lame duck").await;
    publish(&nc, "still", "delivered in lame duck mode").await;
    take("still", &mut sub, 1).await;
    refused("a new client", url(), options()).await;
    close(nc).await;
    events.until("closed").await;
}

pub async fn stale() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    events.until("connected").await;
    let mut sub = subscribe(&nc, "again").await;
    flush(&nc).await;
    ask("pause").await;
    events.until("connected").await;
    publish(&nc, "again", "after").await;
    take("again", &mut sub, 1).await;
    close(nc).await;
    events.until("closed").await;
}

pub async fn slow_server() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    events.until("connected").await;
    let flood = slowly(subscribe(&nc, "flood").await, Arc::default());
    flush(&nc).await;
    ask("flood flood").await;
    events.until("disconnected").await;
    events.until("connected").await;
    flood.abort();
    let mut again = subscribe(&nc, "again").await;
    publish(&nc, "again", "after").await;
    take("again", &mut again, 1).await;
    close(nc).await;
    events.until("closed").await;
}

pub async fn slow_client() {
    let (mut events, with) = Events::new(options().subscription_capacity(10));
    let nc = connect(with).await;
    events.until("connected").await;
    let other = connect(options()).await;
    let mut sub = subscribe(&nc, "much").await;
    flush(&nc).await;
    for i in 0..25 {
        publish(&other, "much", &i.to_string()).await;
    }
    flush(&other).await;
    flush(&nc).await;
    for _ in 0..15 {
        events.until("slow consumer").await;
    }
    say!("then: {}", count(&mut sub).await.0);
    close(nc).await;
    close(other).await;
    events.until("closed").await;
}

pub async fn reload() {
    let user = |name: &str| options().user_and_password(name.into(), name.into());
    let (mut bobs, with_bob) = Events::new(user("bob"));
    let (mut eves, with_eve) = Events::new(user("eve").max_reconnects(1));
    let (bob, eve) = (connect(with_bob).await, connect(with_eve).await);
    bobs.until("connected").await;
    eves.until("connected").await;
    let mut news = subscribe(&bob, "news.>").await;
    let mut sport = subscribe(&bob, "sport").await;
    settle(&bob).await;
    publish(&eve, "news.a", "before").await;
    publish(&eve, "sport", "before").await;
    take("news", &mut news, 1).await;
    take("sport", &mut sport, 1).await;
    ask("reload").await;
    bobs.until("server error").await;
    eves.until("disconnected").await;
    publish(&bob, "news.a", "after").await;
    publish(&bob, "sport", "after").await;
    take("news", &mut news, 1).await;
    say!("sport: {}", count(&mut sport).await.0);
    attempt("eve again", url(), user("eve")).await;
    close(bob).await;
    bobs.until("closed").await;
}
