package clientscheck

import (
	"strings"

	"github.com/nats-io/nats.go"
)

// at is the server's URL with credentials in it.
func at(credentials string) string { return strings.Replace(url, "://", "://"+credentials+"@", 1) }

func token() {
	try("right", url, nats.Token("a token, with spaces"))
	try("wrong", url, nats.Token("a token"))
	try("user instead", url, nats.UserInfo("a token, with spaces", ""))
	try("none", url)
	try("in the url", at("a%20token%2C%20with%20spaces"))
}

func password() {
	try("right", url, nats.UserInfo("alice", "wonder'land"))
	try("wrong password", url, nats.UserInfo("alice", "wonderland"))
	try("wrong user", url, nats.UserInfo("Alice", "wonder'land"))
	try("token instead", url, nats.Token("wonder'land"))
	try("none", url)
	try("in the url", at("alice:wonder%27land"))
}

func bcrypt() {
	try("right", url, nats.UserInfo("alice", "correct horse"))
	try("wrong", url, nats.UserInfo("alice", "correct horses"))
	try("empty", url, nats.UserInfo("alice", ""))
}

func nkey() {
	key := func(file string) nats.Option {
		option, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			fatal(file, err)
		}
		return option
	}
	try("right", url, key("alice.nk"))
	try("a stranger's", url, key("stranger.nk"))
	try("none", url)
	nc := connect(key("alice.nk"))
	sub := subscribe(nc, "n")
	publish(nc, "n", "signed in")
	flush(nc)
	take(sub, 1)
	nc.Close()
}

func anonymous() {
	events := newEvents()
	guest := connect(events.options()...)
	flush(guest)
	say("auth required: %v", guest.AuthRequired()) // as the second INFO has it
	alice := connect(nats.UserInfo("alice", "alice"))
	all, public := subscribe(alice, ">"), subscribe(guest, "public.>")
	flush(alice)
	flush(guest)
	publish(guest, "public.a", "from a guest")
	publish(guest, "private.a", "from a guest")
	flush(guest)
	events.until("error")
	subscribe(guest, "private.>")
	flush(guest)
	events.until("error")
	take(all, 1)
	take(public, 1)
	try("wrong", url, nats.UserInfo("alice", "bob"))
	guest.Close()
	alice.Close()
}

func permissions() {
	events := newEvents()
	admin := connect(nats.UserInfo("root", "root"))
	worker := connect(events.options(nats.UserInfo("worker", "worker"))...)
	done := subscribe(admin, "jobs.*.done")
	jobs := subscribe(worker, "jobs.>")
	flush(admin)
	flush(worker)
	for _, subject := range []string{"jobs.1.done", "jobs.secret.done", "jobs.1", "other"} {
		publish(worker, subject, "from a worker")
		flush(worker)
	}
	for range 3 {
		events.until("error")
	}
	take(done, 1)
	take(jobs, 1)
	for _, subject := range []string{"jobs.secret.a", "audit", "other.*", ">"} {
		subscribe(worker, subject)
		flush(worker)
		events.until("error")
	}
	if _, err := worker.QueueSubscribeSync("audit", "others"); err != nil {
		say("audit: %v", err)
	}
	flush(worker)
	events.until("error")
	audit, err := worker.QueueSubscribeSync("audit", "workers")
	if err != nil {
		say("audit: %v", err)
	}
	flush(worker)
	events.none()
	for _, subject := range []string{"jobs.secret.plan", "jobs.open.plan", "audit"} {
		publish(admin, subject, "from root")
	}
	flush(admin)
	take(jobs, 1)
	take(audit, 1)
	_, err = worker.Request("other", nil, quiet)
	say("request: %v", err)
	events.until("error")
	limited := newEvents()
	byDefault := connect(limited.options(nats.UserInfo("admin", "admin"))...)
	publish(byDefault, "jobs.1", "not public")
	flush(byDefault)
	limited.until("error")
	subscribe(byDefault, "jobs.>")
	flush(byDefault)
	limited.until("error")
	worker.Close()
	admin.Close()
	byDefault.Close()
}

func responses() {
	asker := connect(nats.UserInfo("asker", "asker"))
	for _, c := range []struct{ user, subject string }{{"helper", "help.me"}, {"once", "once"}} {
		events := newEvents()
		nc := connect(events.options(nats.UserInfo(c.user, c.user))...)
		sub, replies := subscribe(nc, c.subject), subscribe(asker, "reply."+c.user)
		flush(nc)
		flush(asker)
		if err := asker.PublishRequest(c.subject, "reply."+c.user, []byte("please")); err != nil {
			say("request: %v", err)
		}
		flush(asker)
		m, err := sub.NextMsg(patience)
		if err != nil {
			fatal(c.subject, err)
		}
		for _, text := range []string{"1", "2", "3"} {
			publish(nc, m.Reply, text)
			flush(nc)
		}
		events.until("error")
		take(replies, map[string]int{"helper": 2, "once": 1}[c.user])
		publish(nc, "reply.other", "not asked")
		flush(nc)
		for range map[string]int{"helper": 1, "once": 2}[c.user] {
			events.until("error")
		}
		nc.Close()
	}
	asker.Close()
}
