//! Every way to say who one is, and what one may do then.

use async_nats::ConnectOptions;

use crate::program::*;

fn user(name: &str, password: &str) -> ConnectOptions {
    options().user_and_password(name.into(), password.into())
}

fn at(credentials: &str) -> String {
    url().replacen("://", &format!("://{credentials}@"), 1)
}

pub async fn token() {
    attempt("right", url(), options().token("a token, with spaces".into())).await;
    attempt("wrong", url(), options().token("a token".into())).await;
    attempt("user instead", url(), user("a token, with spaces", "")).await;
    attempt("none", url(), options()).await;
}

pub async fn password() {
    attempt("right", url(), user("alice", "wonder'land")).await;
    attempt("wrong password", url(), user("alice", "wonderland")).await;
    attempt("wrong user", url(), user("Alice", "wonder'land")).await;
    attempt("token instead", url(), options().token("wonder'land".into())).await;
    attempt("none", url(), options()).await;
    attempt("in the url, as it is", at("alice:wonder'land"), options()).await;
}

pub async fn bcrypt() {
    attempt("right", url(), user("alice", "correct horse")).await;
    attempt("wrong", url(), user("alice", "correct horses")).await;
    attempt("empty", url(), user("alice", "")).await;
}

pub async fn nkey() {
    let key = |file| options().nkey(std::fs::read_to_string(file).expect("a seed"));
    attempt("right", url(), key("alice.nk")).await;
    attempt("a stranger's", url(), key("stranger.nk")).await;
    attempt("none", url(), options()).await;
    let nc = connect(key("alice.nk")).await;
    let mut sub = subscribe(&nc, "n").await;
    publish(&nc, "n", "signed in").await;
    take("n", &mut sub, 1).await;
    close(nc).await;
}

pub async fn anonymous() {
    let (mut events, with) = Events::new(options());
    let guest = connect(with).await;
    events.until("connected").await;
    settle(&guest).await;
    say!("auth required: {}", guest.server_info().auth_required);
    let alice = connect(user("alice", "alice")).await;
    let mut all = subscribe(&alice, ">").await;
    let mut open = subscribe(&guest, "public.>").await;
    settle(&alice).await;
    settle(&guest).await;
    publish(&guest, "public.a", "from a guest").await;
    publish(&guest, "private.a", "from a guest").await;
    events.until("server error").await;
    let _private = subscribe(&guest, "private.>").await;
    events.until("server error").await;
    take(">", &mut all, 1).await;
    take("public.>", &mut open, 1).await;
    attempt("wrong", url(), user("alice", "bob")).await;
    close(guest).await;
    close(alice).await;
}

pub async fn permissions() {
    let root = connect(user("root", "root")).await;
    let (mut events, with) = Events::new(user("worker", "worker").request_timeout(Some(QUIET)));
    let worker = connect(with).await;
    events.until("connected").await;
    let mut done = subscribe(&root, "jobs.*.done").await;
    let mut jobs = subscribe(&worker, "jobs.>").await;
    flush(&root).await;
    flush(&worker).await;
    for subject in ["jobs.1.done", "jobs.secret.done", "jobs.1", "other"] {
        publish(&worker, subject, "from a worker").await;
    }
    for _ in 0..3 {
        events.until("server error").await;
    }
    take("done", &mut done, 1).await;
    take("jobs", &mut jobs, 1).await;
    let mut denied = Vec::new();
    for subject in ["jobs.secret.a", "audit", "other.*", ">"] {
        denied.push(subscribe(&worker, subject).await);
        events.until("server error").await;
    }
    denied.push(worker.queue_subscribe("audit", "others".into()).await.expect("queue"));
    events.until("server error").await;
    let mut audit = worker.queue_subscribe("audit", "workers".into()).await.expect("queue");
    flush(&worker).await;
    events.none().await;
    for subject in ["jobs.secret.plan", "jobs.open.plan", "audit"] {
        publish(&root, subject, "from root").await;
    }
    take("jobs", &mut jobs, 1).await;
    take("audit", &mut audit, 1).await;
    request(&worker, "other", "").await;
    events.until("server error").await;
    let (mut limited, with) = Events::new(user("admin", "admin"));
    let by_default = connect(with).await;
    limited.until("connected").await;
    publish(&by_default, "jobs.1", "not public").await;
    limited.until("server error").await;
    let _jobs = subscribe(&by_default, "jobs.>").await;
    limited.until("server error").await;
    for nc in [root, worker, by_default] {
        close(nc).await;
    }
}

pub async fn responses() {
    let asker = connect(user("asker", "asker")).await;
    for (name, subject, answers) in [("helper", "help.me", 2), ("once", "once", 1)] {
        let (mut events, with) = Events::new(user(name, name));
        let nc = connect(with).await;
        events.until("connected").await;
        let reply = format!("reply.{name}");
        let mut sub = subscribe(&nc, subject).await;
        let mut replies = subscribe(&asker, &reply).await;
        settle(&nc).await;
        asker.publish_with_reply(subject, reply.clone(), "please".into()).await.expect("publish");
        let reply_to = next(&mut sub).await.reply.expect("a reply subject");
        for text in ["1", "2", "3"] {
            publish(&nc, &reply_to, text).await;
        }
        events.until("server error").await;
        take(&reply, &mut replies, answers).await;
        publish(&nc, "reply.other", "not asked").await;
        for _ in answers..3 {
            events.until("server error").await;
        }
        close(nc).await;
    }
    close(asker).await;
}
