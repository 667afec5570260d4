package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/platform/ingest"
)

const (
	// forwardBytes bounds the batches of one request to the leader; a larger batch goes alone.
	forwardBytes = 512 << 10
	// forwardWaiting bounds the positions that wait at a follower, and forwardMemory the bytes of
	// their stored form.
	forwardWaiting = 256 << 10
	forwardMemory  = 64 << 20
	// forwardAttempt is the time after which a request to the leader is made again, and
	// forwardPatience the time after which a batch is refused, while there is no leader.
	forwardAttempt  = 2 * time.Second
	forwardPatience = 15 * time.Second
	forwardPause    = 50 * time.Millisecond
	// requestRoom is for the subject and the headers of a request.
	requestRoom = 2 << 10
)

// noLeader is the reason of positions that no leader took in time.
const noLeader = "no leader of the cluster has answered: send it again later"

// Forwarder passes the batches of a follower's doors to the leader, in their order: one request at
// a time, with all batches that wait. A request without an answer is made again. The same leader
// does it once; at the next leader, positions that were applied by then count as late. It
// implements [ingest.Forwarder].
type Forwarder struct {
	node    *Node
	local   func() *ingest.Pipeline // of this node, which may be the leader by now
	ctx     context.Context
	passed  struct{ batches, positions, retries atomic.Uint64 }
	refused struct{ full, noLeader atomic.Uint64 } // positions
	under   atomic.Int64                           // batches that no pipeline and no leader has yet
	made    uint64                                 // requests

	mu      sync.Mutex
	waiting []*forwarded
	count   int // of their positions
	bytes   int // of their bodies
	more    chan struct{}
}

// forwarded is a batch, or a part of one, on its way.
type forwarded struct {
	batch *ingest.Batch
	body  []byte // in its stored form
	since time.Time
	done  func(ingest.Outcomes)
}

// NewForwarder returns a forwarder, whose Run has to be called. It ends with ctx.
func NewForwarder(ctx context.Context, node *Node, local func() *ingest.Pipeline) *Forwarder {
	return &Forwarder{node: node, local: local, ctx: ctx, more: make(chan struct{}, 1)}
}

// tooMuch is the reason of positions for which there is no room.
const tooMuch = "overloaded: the queue for the leader is full, send it again later"

// Submit implements [ingest.Forwarder]. It waits for the leader, or for the refusal after
// forwardPatience: a batch that waits may be applied whatever its caller does, so ctx does not end
// the wait.
func (f *Forwarder) Submit(_ context.Context, b *ingest.Batch) (ingest.Result, error) {
	answers := make(chan ingest.Outcomes, 1)
	f.enter(b, func(o ingest.Outcomes) { answers <- o })
	return b.Result(<-answers), nil
}

// TrySubmit implements [ingest.Forwarder].
func (f *Forwarder) TrySubmit(b *ingest.Batch, done func(ingest.Result)) error {
	f.enter(b, func(o ingest.Outcomes) {
		if r := b.Result(o); done != nil {
			done(r)
		}
	})
	return nil
}

// enter lists a batch, or refuses it if there is no room. An empty one is done at once.
func (f *Forwarder) enter(b *ingest.Batch, done func(ingest.Outcomes)) {
	if b.Empty() {
		done(ingest.Outcomes{})
		return
	}
	parts := split(b, f.most(), time.Now(), done)
	size := 0
	for _, p := range parts {
		size += len(p.body)
	}
	f.mu.Lock()
	n := len(b.Positions)
	full := f.bytes > 0 && (f.count+n > forwardWaiting || f.bytes+size > forwardMemory) || f.ctx.Err() != nil
	if !full {
		f.under.Add(int64(len(parts)))
		f.count += n
		f.bytes += size
		f.waiting = append(f.waiting, parts...)
	}
	f.mu.Unlock()
	if full {
		f.refused.full.Add(uint64(n))
		done(b.Refusal(tooMuch))
		return
	}
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// Waiting implements [ingest.Forwarder].
func (f *Forwarder) Waiting() bool { return f.under.Load() > 0 }

// most is how many bytes of batches a request has at most: the servers may take less than
// forwardBytes.
func (f *Forwarder) most() int {
	return min(forwardBytes, max(int(f.node.o.Conn.MaxPayload())-requestRoom, requestRoom))
}

// split returns the parts of a batch that fit into a request of most bytes each. done is called
// once all of them are done.
func split(b *ingest.Batch, most int, now time.Time, done func(ingest.Outcomes)) []*forwarded {
	body := ingest.AppendBatch(nil, b)
	if len(body) <= most || len(b.Positions) < 2 {
		return []*forwarded{{b, body, now, done}}
	}
	first, second := b.Half()
	var before ingest.Outcomes // they are done in their order
	return append(split(first, most, now, func(o ingest.Outcomes) { before = o }), split(second, most, now, func(o ingest.Outcomes) { done(before.Then(o)) })...)
}

// Run passes batches on until ctx ends, and refuses the rest then.
func (f *Forwarder) Run() {
	for {
		select {
		case <-f.ctx.Done():
			for all := f.next(); len(all) > 0; all = f.next() {
				f.refuse(all)
			}
			return
		case <-f.more:
			for all := f.next(); len(all) > 0; all = f.next() {
				f.pass(all)
			}
		}
	}
}

// next takes the batches of the next request.
func (f *Forwarder) next() []*forwarded {
	most := f.most()
	f.mu.Lock()
	defer f.mu.Unlock()
	size, n := 0, 0
	for n < len(f.waiting) && (n == 0 || size+len(f.waiting[n].body) <= most) {
		size += len(f.waiting[n].body)
		f.count -= len(f.waiting[n].batch.Positions)
		n++
	}
	f.bytes -= size
	all := f.waiting[:n:n]
	f.waiting = f.waiting[n:]
	return all
}

func (f *Forwarder) refuse(all []*forwarded) {
	for _, b := range all {
		f.refused.noLeader.Add(uint64(len(b.batch.Positions)))
		b.done(b.batch.Refusal(noLeader))
		f.under.Add(-1)
	}
}

// pass passes batches to the leader, whichever it is, and answers them.
func (f *Forwarder) pass(all []*forwarded) {
	f.made++
	for f.ctx.Err() == nil && time.Since(all[0].since) < forwardPatience {
		if f.local().Role() == ingest.Leader {
			f.passHere(all)
			return
		}
		if leader, ok := f.node.Leader(); ok && leader.ID != f.node.id {
			err := f.ask(leader.ID, all)
			if err == nil {
				return
			}
			f.passed.retries.Add(1)
			f.node.o.Logger.Debug("the leader has not taken positions", "node", leader.Node, "error", err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(forwardPause):
		}
	}
	f.refuse(all)
}

// passHere passes batches, and all that wait behind them, to the pipeline of this node, before the
// first of them is applied. Then positions that come to the doors are behind them.
func (f *Forwarder) passHere(all []*forwarded) {
	type passed struct {
		*forwarded
		applied chan ingest.Outcomes
	}
	var queue []passed
	for ; len(all) > 0; all = f.next() {
		for _, b := range all {
			own := *b.batch
			own.Door = nil // b.done tells the door
			applied := make(chan ingest.Outcomes, 1)
			if err := f.local().Pass(&own, func(o ingest.Outcomes) { applied <- o }); err != nil {
				applied <- b.batch.Refusal(noLeader)
			}
			queue = append(queue, passed{b, applied})
			f.under.Add(-1)
		}
	}
	for _, b := range queue {
		b.done(<-b.applied)
	}
}

// ask makes one request to a node, and answers the batches.
func (f *Forwarder) ask(node string, all []*forwarded) error {
	var body []byte
	lengths := make([]int, len(all))
	for i, b := range all {
		body = append(body, b.body...)
		lengths[i] = len(b.batch.Positions)
	}
	ctx, cancel := context.WithTimeout(f.ctx, forwardAttempt)
	watched := make(chan struct{})
	watch := time.AfterFunc(forwardPause, func() { f.watch(ctx, cancel, node); close(watched) })
	defer func() {
		if cancel(); !watch.Stop() {
			<-watched
		}
	}()
	answer, err := f.node.request(ctx, positionsKind, node, f.node.requestName(f.made), body)
	if err != nil {
		return err
	}
	outcomes, err := ingest.ParseOutcomes(answer, lengths)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if outcomes[i].Unapplied() {
			return ErrReplaced
		}
	}
	for i, b := range all {
		f.passed.batches.Add(1)
		f.passed.positions.Add(uint64(lengths[i]))
		b.done(outcomes[i])
		f.under.Add(-1)
	}
	return nil
}

// watch ends a request to a node once another one leads: the node may be gone.
func (f *Forwarder) watch(ctx context.Context, cancel context.CancelFunc, node string) {
	for ctx.Err() == nil {
		if leader, ok := f.node.Leader(); ok && leader.ID != node {
			cancel()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(forwardPause):
		}
	}
}

// positionsKind is the kind of requests with batches of positions.
const positionsKind = "positions"

// Serve answers requests of followers until the returned function is called.
func (n *Node) Serve(p *ingest.Pipeline) (stop func(), err error) {
	return n.Answer(positionsKind, p, func(request []byte, respond func([]byte, error)) { serve(p, request, respond) })
}

// serve answers a request once all of its batches are applied. If the answer is lost, the follower
// asks again.
func serve(p *ingest.Pipeline, request []byte, respond func(answer []byte, err error)) {
	batches, err := ingest.ParseBatches(request)
	if err != nil {
		respond(nil, err)
		return
	}
	var left sync.WaitGroup
	outcomes := make([]ingest.Outcomes, len(batches))
	for i, b := range batches {
		left.Add(1)
		if err = p.Pass(b, func(o ingest.Outcomes) { outcomes[i] = o; left.Done() }); err != nil {
			left.Done()
			break // it is ending: the follower asks the next leader
		}
	}
	go func() {
		left.Wait()
		var body []byte
		for i := range outcomes {
			body = outcomes[i].Append(body)
		}
		respond(body, err)
	}()
}
