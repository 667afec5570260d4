//! A micro service.

use std::collections::HashMap;

use async_nats::Client;
use async_nats::service::error::Error;
use async_nats::service::{Request, ServiceExt};
use futures_util::StreamExt;

use crate::messages::say_headers;
use crate::program::*;

pub async fn service() {
    let server = connect(options()).await;
    let nc = connect(options()).await;
    let s = server
        .service_builder()
        .description("doubles")
        .metadata(HashMap::from([("unit".to_string(), "one".to_string())]))
        .start("calc", "1.2.3")
        .await
        .expect("service");
    let mut endpoint = s.group("v1").endpoint("double").await.expect("endpoint");
    let working = tokio::spawn(async move {
        while let Some(request) = endpoint.next().await {
            double(request).await;
        }
    });
    flush(&server).await;
    let id = s.info().await.id;
    for text in ["21", "many"] {
        let m = nc.request("v1.double", text.into()).await.expect("v1.double");
        say_headers("answer", &m);
    }
    for verb in ["PING", "INFO", "STATS"] {
        for who in ["".to_string(), ".calc".to_string(), format!(".calc.{id}")] {
            ask_service(&nc, verb, &format!("$SRV.{verb}{who}"), &id).await;
        }
    }
    request(&nc, "$SRV.PING.other", "").await;
    s.stop().await.expect("stop");
    working.await.expect("the endpoint ends");
    flush(&server).await;
    request(&nc, "v1.double", "").await;
    close(server).await;
    close(nc).await;
}

async fn double(request: Request) {
    let number = String::from_utf8_lossy(&request.message.payload).parse::<i64>();
    let answer = number
        .map(|n| (2 * n).to_string().into())
        .map_err(|_| Error { status: "not a number".into(), code: 400 });
    request.respond(answer).await.expect("respond");
}

/// Says what of the answer does not differ from run to run. The answer is JSON,
/// of which it takes the fields by their names.
async fn ask_service(nc: &Client, verb: &str, subject: &str, id: &str) {
    let m = nc.request(subject.to_string(), "".into()).await.expect("an answer");
    let text = String::from_utf8_lossy(&m.payload).to_string();
    let field = |name: &str| {
        let from = text.find(&format!("\"{name}\":"))? + name.len() + 3;
        let value = text[from..].trim_start_matches('"');
        Some(value[..value.find(['"', ',', '}'])?].to_string())
    };
    say!("{verb}: {:?} {:?}, its id: {}", field("type"), field("version"), text.contains(id));
    say!("  {:?} in {:?}: {:?}, {:?}", field("subject"), field("queue_group"), field("num_requests"), field("num_errors"));
}
