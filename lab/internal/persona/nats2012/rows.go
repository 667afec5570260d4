package nats2012

import (
	"fmt"
	"strings"

	"paddock/lab/internal/documents"
)

// Row is one of the benchmarks.
type Row struct {
	Name             string
	Subject, Payload string
	// Sids are the subscriptions, in the queue Queue if there is one.
	Sids  int
	Queue string
	// Apart is whether they are another connection's than the publisher's.
	Apart bool
}

// Original is the time of the server of 2012 for an operation, in ns; MB/s follow from the
// operation's length.
func (r *Row) Original() float64 {
	ns, _ := documents.Named("N", r.Name).Value("op")
	return ns
}

// Rows are all of them, in their order.
var Rows = []Row{
	{Name: "PubNoPayload", Subject: "a"},
	{Name: "PubMinPayload", Subject: "a", Payload: "b"},
	{Name: "PubTinyPayload", Subject: "foo", Payload: "ok"},
	{Name: "PubSmallPayload", Subject: "foo", Payload: "hello world"},
	{Name: "PubMedPayload", Subject: "foo", Payload: "The quick brown fox jumps over the lazy dog"},
	{Name: "PubLargePayload", Subject: "foo", Payload: strings.Repeat("hello world ", 200)},
	{Name: "PubSub", Subject: "foo", Payload: "ok", Sids: 1},
	{Name: "PubSubTwoConns", Subject: "foo", Payload: "ok", Sids: 1, Apart: true},
	{Name: "PubTwoQueueSub", Subject: "foo", Payload: "ok", Sids: 2, Queue: "group1"},
	{Name: "PubFourQueueSub", Subject: "foo", Payload: "ok", Sids: 4, Queue: "group1"},
}

// op returns the bytes of one operation.
func (r *Row) op() []byte {
	return fmt.Appendf(nil, "PUB %s %d\r\n%s\r\n", r.Subject, len(r.Payload), r.Payload)
}

// delivery returns the bytes that arrive for each operation, for subscription sid.
func (r *Row) delivery(sid int) []byte {
	return fmt.Appendf(nil, "MSG %s %d %d\r\n%s\r\n", r.Subject, sid, len(r.Payload), r.Payload)
}

// unsubscribe returns the bytes behind the operations.
func (r *Row) unsubscribe() (b []byte) {
	for sid := range r.Sids {
		b = fmt.Appendf(b, "UNSUB %d\r\n", sid+1)
	}
	return b
}

// subscribe returns the bytes before the clock starts.
func (r *Row) subscribe() []byte {
	var b []byte
	for sid := range r.Sids {
		b = append(b, strings.Join(strings.Fields(fmt.Sprintf("SUB %s %s %d", r.Subject, r.Queue, sid+1)), " ")...)
		b = append(b, "\r\n"...)
	}
	return b
}
