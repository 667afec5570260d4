//! Messages: subjects, queues, requests, headers.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use async_nats::{Client, HeaderMap, Message};
use futures_util::StreamExt;

use crate::program::{self, *};

pub async fn pubsub() {
    let nc = connect(options()).await;
    let other = connect(options().no_echo()).await;
    let mut subs = Vec::new();
    for pattern in ["fleet", "fleet.*", "fleet.a.pos", "fleet.*.pos", "*.a.*", "fleet.>", ">"] {
        subs.push((pattern, subscribe(&nc, pattern).await));
    }
    let mut own = subscribe(&other, "fleet.>").await;
    settle(&nc).await; // an inbox is seen by ">"
    settle(&other).await;
    for subject in ["fleet", "fleet.a", "fleet.a.pos", "fleet.b.pos", "fleet.a.pos.x", "Fleet.a.pos"] {
        publish(&other, subject, &format!("to {subject}")).await;
    }
    publish(&other, "fleet.a.pos", "").await;
    for ((name, sub), n) in subs.iter_mut().zip([1, 1, 2, 3, 3, 5, 7]) {
        take(name, sub, n).await;
    }
    publish(&nc, "fleet.a", "from the other").await;
    take("fleet.>", &mut own, 1).await;
    subs[0].1.unsubscribe().await.expect("unsubscribe");
    settle(&nc).await;
    publish(&other, "fleet", "after unsubscribe").await;
    say!("after unsubscribe: {:?}", count(&mut subs[0].1).await);
    close(nc).await;
    close(other).await;
}

pub async fn queue() {
    let nc = connect(options()).await;
    let other = connect(options()).await;
    let mut workers = Vec::new();
    for c in [&nc, &other, &other] {
        workers.push(c.queue_subscribe("jobs.*", "workers".into()).await.expect("queue"));
    }
    let mut audit = nc.queue_subscribe("jobs.>", "audit".into()).await.expect("queue");
    let mut plain = subscribe(&nc, "jobs.new").await;
    flush(&nc).await;
    flush(&other).await;
    for _ in 0..300 {
        publish(&nc, "jobs.new", "work").await;
    }
    flush(&nc).await;
    flush(&other).await;
    let (mut sum, mut idle) = (0, 0);
    for sub in &mut workers {
        let (n, _) = count(sub).await;
        sum += n;
        idle += (n == 0) as usize;
    }
    say!("workers: {sum}, idle: {idle}");
    say!("audit: {}", count(&mut audit).await.0);
    say!("plain: {}", count(&mut plain).await.0);
    close(nc).await;
    close(other).await;
}

pub async fn request() {
    let server = connect(options()).await;
    let own = options().custom_inbox_prefix("_INBOX.own").request_timeout(Some(Duration::from_millis(300)));
    let nc = connect(own).await;
    answer(&server, "upper", "").await;
    answer(&server, "both", "one of both: ").await;
    answer(&server, "both", "one of both: ").await;
    let _silent = subscribe(&server, "silent").await;
    let mut inbox = subscribe(&server, "_INBOX.own.>").await;
    flush(&server).await;
    for subject in ["upper", "both", "nobody", "silent"] {
        program::request(&nc, subject, "hello").await;
    }
    say!("answers seen: {}", count(&mut inbox).await.0);
    for subject in ["upper", "nobody"] {
        let own = async_nats::Request::new().payload("with an inbox of its own".into()).inbox(nc.new_inbox());
        match nc.send_request(subject, own).await {
            Ok(m) => say!("{subject}: {}", quoted(&m)),
            Err(e) => say!("{subject}: {e}"),
        }
    }
    close(server).await;
    close(nc).await;
}

/// Answers requests in the background with what they hold in capitals.
pub async fn answer(server: &Client, subject: &str, text: &'static str) {
    let (server, mut sub) = (server.clone(), subscribe(server, subject).await);
    tokio::spawn(async move {
        while let Some(m) = sub.next().await {
            let upper = String::from_utf8_lossy(&m.payload).to_uppercase();
            if let Some(reply) = m.reply {
                let _ = server.publish(reply, format!("{text}{upper}").into()).await;
            }
        }
    });
}

pub async fn headers() {
    let nc = connect(options()).await;
    let mut sub = subscribe(&nc, "h").await;
    let mut reply = subscribe(&nc, "reply").await;
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("two", &[("Fleet", "north"), ("Key", "one"), ("Key", "two")]),
        ("", &[("Empty", "")]),
        ("none", &[]),
        ("text", &[("Colon", "a: b: c"), ("Umlaut", "größer")]),
    ];
    for (text, fields) in cases {
        if fields.is_empty() {
            publish(&nc, "h", text).await;
            continue;
        }
        let mut headers = HeaderMap::new();
        for (key, value) in fields {
            headers.append(*key, *value);
        }
        nc.publish_with_headers("h", headers, text.into()).await.expect("publish");
    }
    for _ in 0..4 {
        say_headers("h", &next(&mut sub).await);
    }
    nc.publish_with_reply("nobody.here", "reply", "".into()).await.expect("publish");
    say_headers("reply", &next(&mut reply).await);
    close(nc).await;
}

pub fn say_headers(name: &str, m: &Message) {
    let mut lines = Vec::new();
    for (key, values) in m.headers.iter().flat_map(|h| h.iter()) {
        let values: Vec<&str> = values.iter().map(|v| v.as_str()).collect();
        lines.push(format!("  {key}: {}", values.join(" | ")));
    }
    lines.sort();
    let status = m.status.map_or(0, |s| s.as_u16());
    say!("{name} {}, {} headers, status {status}", quoted(m), lines.len());
    lines.iter().for_each(|line| say!("{line}"));
}

pub async fn autounsub() {
    let nc = connect(options()).await;
    let mut before = subscribe(&nc, "a").await;
    let mut after = subscribe(&nc, "a").await;
    let mut reached = subscribe(&nc, "a").await;
    before.unsubscribe_after(3).await.expect("limit");
    publish(&nc, "a", "1").await;
    publish(&nc, "a", "2").await;
    flush(&nc).await;
    after.unsubscribe_after(4).await.expect("limit");
    reached.unsubscribe_after(2).await.expect("limit");
    for text in ["3", "4", "5"] {
        publish(&nc, "a", text).await;
    }
    flush(&nc).await;
    for sub in [&mut before, &mut after, &mut reached] {
        let (n, ended) = count(sub).await;
        say!("got {n}, ended: {ended}");
    }
    close(nc).await;
}

pub async fn info() {
    let (mut events, with) = Events::new(options());
    let nc = connect(with).await;
    events.until("connected").await;
    flush(&nc).await;
    let i = nc.server_info();
    say!("server id: {} characters, {:.1}", i.server_id.len(), i.server_id);
    say!("server name: {}, version: {} parts", !i.server_name.is_empty(), i.version.split('.').count());
    say!("at least 2.10: {}", nc.is_server_compatible(2, 10, 0));
    say!("host: {}, port: {}, proto: {}", i.host, i.port, i.proto);
    say!("max payload: {} {}", i.max_payload, nc.max_payload());
    say!("client id: {}, client ip: {}", i.client_id > 0, i.client_ip);
    say!("headers: {}, lame duck: {}", i.headers, i.lame_duck_mode);
    say!("auth required: {}, tls required: {}", i.auth_required, i.tls_required);
    say!("nonce: {:?}, urls: {:?}, cluster: {:?}, domain: {:?}", i.nonce, i.connect_urls, i.cluster, i.domain);
    let mut sub = subscribe(&nc, "stats").await;
    let stats = nc.statistics();
    let before = (stats.in_messages.load(Relaxed), stats.out_messages.load(Relaxed));
    publish(&nc, "stats", "12345").await;
    take("stats", &mut sub, 1).await;
    let after = (stats.in_messages.load(Relaxed), stats.out_messages.load(Relaxed));
    say!("in: {}, out: {}", after.0 - before.0, after.1 - before.1);
    events.none().await;
    close(nc).await;
    events.until("closed").await;
}
