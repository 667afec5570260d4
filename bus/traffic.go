package bus

import (
	"math"

	"paddock/bus/internal/traffic"
)

// OtherPrefixes is the label of all subjects that belong to no other.
const OtherPrefixes = traffic.Other

// PrefixTraffic is the traffic of subjects with one beginning.
type PrefixTraffic struct {
	Prefix  string // whole tokens, or OtherPrefixes
	In, Out uint64 // messages published and delivered
}

// SubjectTraffic is an estimate of one subject's share.
type SubjectTraffic struct {
	Subject string
	// Messages is a lower bound of the published messages, too low by Over at most. Both are halved
	// now and then, so that recent traffic counts most.
	Messages, Over uint64
}

// PrefixTraffic reads the traffic of the configured prefixes, of the busiest others, and last of
// all other subjects. A subject counts under the longest configured prefix, or one of the others.
// Subjects that occur once are counted by samples, so their numbers are estimates.
func (s *Server) PrefixTraffic() (list []PrefixTraffic) {
	s.traffic.Read(func(prefix string, in, out uint64) {
		list = append(list, PrefixTraffic{Prefix: prefix, In: in, Out: out})
	})
	return list
}

// BusySubjects returns the subjects that are probably the busiest, at most n.
func (s *Server) BusySubjects(n int) (list []SubjectTraffic) {
	for _, slot := range s.traffic.Busiest(n) {
		list = append(list, SubjectTraffic{Subject: string(slot.Text), Messages: slot.Sure(), Over: slot.Over})
	}
	return list
}

// batchCounts holds a router's counts of messages, in all and by subject, until it adds them to the
// server's. Subjects that the cache holds are counted exactly, the others by samples: each message
// is one with a probability that stays until the next sample, and stands for as many as that is one
// in. The estimate has no bias, however soon a router is let go.
type batchCounts struct {
	inMsgs, inBytes, outMsgs, outBytes uint64

	table       *traffic.Table
	last        *receiverEntry   // of the present subject; nil = the cache does not hold it
	in, out     uint64           // messages in all, when the present subject came up
	entries     []*receiverEntry // that have counts; some twice
	untilSample int              // messages until the next sample, that included
	weight      uint64           // for how many it stands
	sampled     bool             // the message that is under way is one, and counts for tally
	tally       *traffic.Tally
	random      random
	text        []byte // scratch
}

// random is the state of a generator, which is not 0: xorshift64, Marsaglia 2003.
type random uint64

// bits returns 31 random bits.
func (x *random) bits() uint64 {
	*x ^= *x << 13
	*x ^= *x >> 7
	*x ^= *x << 17
	return uint64(*x >> 33)
}

// receive counts a published message of n bytes.
func (b *batchCounts) receive(n int) {
	b.inMsgs++
	b.inBytes += uint64(n)
}

// switchToCached begins the counts of another subject, which the cache holds.
func (b *batchCounts) switchToCached(e *receiverEntry) {
	b.last = e
	b.in, b.out = b.inMsgs, b.outMsgs
}

// switchToUncached begins the counts of another subject, which the cache does not hold.
func (b *batchCounts) switchToUncached(subject []byte) {
	b.last = nil
	if b.untilSample--; b.untilSample <= 0 {
		b.sample(subject)
	}
}

// endSubject adds the routed messages to the counts of the last subject. Most subjects outside the
// cache have none.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (b *batchCounts) endSubject() {
	if b.last != nil || b.sampled {
		b.countLast()
	}
}

func (b *batchCounts) countLast() {
	in, out := b.inMsgs-b.in, b.outMsgs-b.out
	b.in, b.out = b.inMsgs, b.outMsgs
	e := b.last
	switch {
	case in == 0:
	case e == nil:
		b.table.Note(b.tally, b.weight, b.weight*out)
		b.scheduleSample()
	default:
		if e.in == 0 {
			b.entries = append(b.entries, e)
		}
		e.in += in
		e.out += out
	}
	b.sampled = false
}

// sample makes the next message a sample.
func (b *batchCounts) sample(subject []byte) {
	b.in, b.out = b.inMsgs, b.outMsgs
	b.sampled, b.tally = true, b.table.Labels().Find(subject)
	b.table.Offer(subject, b.weight)
}

// scheduleSample draws the next sample at random: the number of messages until then has a geometric
// distribution.
func (b *batchCounts) scheduleSample() {
	if b.untilSample, b.weight = 1, b.table.SampleEvery(); b.weight > 1 {
		u := (float64(b.random.bits()) + 1) / (1 << 31) // in (0, 1]
		b.untilSample += int(math.Log(u) / math.Log1p(-1/float64(b.weight)))
	}
}

// report adds the counts of the batch by subject to the server's.
func (b *batchCounts) report() {
	b.endSubject()
	b.in, b.out = 0, 0
	for i, e := range b.entries {
		b.reportEntry(e)
		b.entries[i] = nil
	}
	b.entries = b.entries[:0]
}

// reportEntry adds the counts of e to the server's.
func (b *batchCounts) reportEntry(e *receiverEntry) {
	if e.in == 0 {
		return
	}
	if now := b.table.Labels(); e.labels != now {
		b.text = append(b.text[:0], e.subject...)
		e.labels, e.tally = now, now.Find(b.text)
	}
	b.table.Note(e.tally, e.in, e.out)
	e.unreported += e.in
	e.in, e.out = 0, 0
	if e.unreported < b.table.SampleEvery() {
		return
	}
	b.text = append(b.text[:0], e.subject...)
	if b.table.Offer(b.text, e.unreported) {
		e.unreported = 0
	}
}
