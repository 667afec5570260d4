package busbench

import (
	"context"
	"fmt"
	"slices"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/nats/natsload"
	"paddock/lab/internal/persona/nats2012"
)

// operation is the load of a goal.
type operation struct {
	name  string
	title string
	load  load
}

// load is a Stream or Requests.
type load interface {
	Measure(ctx context.Context, s natsload.Server, o measure.Options) (*measure.Measurement, error)
}

const manySubjects = 1_000_000

// operations returns all of them in the order in which they run.
func operations() []operation {
	return slices.Concat(publishing(), seeds(), delivering(), besides(), asking())
}

func publishing() []operation {
	return []operation{
		{name: "publish-16", title: "publish 16 B, no subscriber", load: natsload.Stream{Size: 16}},
		{name: "publish-128", title: "publish 128 B, no subscriber", load: natsload.Stream{Size: 128}},
		{name: "publish-2400", title: "publish 2,400 B, no subscriber", load: natsload.Stream{Size: 2400}},
	}
}

// seeds are the rows of the NATS benchmark of 2012, under its names.
func seeds() (all []operation) {
	for _, r := range nats2012.Rows {
		s := natsload.Stream{Subject: r.Subject, Size: len(r.Payload), Subscribers: min(r.Sids, 1), Same: r.Sids > 0 && !r.Apart}
		if r.Queue != "" {
			s.Members = r.Sids
		}
		all = append(all, operation{name: r.Name, title: fmt.Sprintf("NATS 2012: %d subscriptions, %d B", r.Sids, s.Size), load: s})
	}
	return all
}

func delivering() []operation {
	return []operation{
		{name: "one-to-one-16", title: "1:1, 16 B", load: natsload.Stream{Size: 16, Subscribers: 1}},
		{name: "one-to-one-128", title: "1:1, 128 B", load: natsload.Stream{Size: 128, Subscribers: 1}},
		{name: "fan-out-8", title: "1:8, 128 B, per delivery", load: natsload.Stream{Size: 128, Subscribers: 8}},
		{name: "fan-out-100", title: "1:100, 128 B, per delivery", load: natsload.Stream{Size: 128, Subscribers: 100}},
		{name: "four-to-one", title: "4:1, 128 B", load: natsload.Stream{Size: 128, Publishers: 4, Subscribers: 1}},
		{name: "queue-2", title: "a queue group of 2 connections, 16 B", load: natsload.Stream{Size: 16, Subscribers: 2, Members: 1}},
		{name: "queue-4", title: "a queue group of 4 connections, 16 B", load: natsload.Stream{Size: 16, Subscribers: 4, Members: 1}},
		{
			name: "subjects-1m", title: "1:1, 16 B on 1,000,000 subjects in turn, one wildcard subscription",
			load: natsload.Stream{Size: 16, Subject: "many.", Subjects: manySubjects, Subscribers: 1},
		},
	}
}

func besides() []operation {
	alone := natsload.Stream{Size: 128, Subscribers: 8}
	stalled, ten := alone, alone
	stalled.Stalled = 2
	ten.Subscribers, ten.Uncounted = 10, 2
	return []operation{
		{name: unstalledName, title: "1:8, 128 B, per delivery", load: alone},
		{name: tenName, title: "1:10, 128 B, per delivery to eight of them", load: ten},
		{name: stalledName, title: "1:8, 128 B, per delivery, beside 2 subscribers that do not read", load: stalled},
	}
}

func asking() []operation {
	return []operation{
		{name: "request-1", title: "request and reply, 128 B, 1 requester", load: natsload.Requests{Size: 128, Requesters: 1}},
		{name: "request-50", title: "request and reply, 128 B, 50 requesters", load: natsload.Requests{Size: 128, Requesters: 50}},
	}
}

const (
	unstalledName = "unstalled"
	tenName       = "ten reading"
	stalledName   = "stalled"
)

// find returns the operation of a contender.
func find(op measure.Operation) (operation, error) {
	all := operations()
	if i := slices.IndexFunc(all, func(o operation) bool { return o.name == string(op) }); i >= 0 {
		return all[i], nil
	}
	return operation{}, fmt.Errorf("no operation %q", op)
}
