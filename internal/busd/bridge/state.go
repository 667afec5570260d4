package bridge

import "time"

// State is a bridge at one moment. Counts are those since its start.
type State struct {
	Name      string
	Connected bool
	URL       string    // of the server that is connected, without secrets
	Since     time.Time // of the connection
	Fault     string    // why there is none; "" = there is one, or the first attempt goes on
	Connects  uint64
	Waiting   int64 // bytes that wait for the other server
	In, Out   Traffic
}

// Traffic is what has passed in one direction.
type Traffic struct {
	Messages, Bytes uint64 // bytes are of headers and data
	Dropped         [reasons]uint64
}

// Drops calls f for each reason with its count.
func (t *Traffic) Drops(f func(why Reason, n uint64)) {
	for why := none + 1; why < reasons; why++ {
		f(why, t.Dropped[why])
	}
}

func (b *bridge) state() State {
	s := State{Name: b.cfg.Name, Connects: b.remote.connects.Load(), Waiting: b.queue.waiting(), In: b.traffic[in].read(), Out: b.traffic[out].read()}
	s.In.Dropped[Full] += b.remote.live.Load().dropped()
	if now := b.remote.now.Load(); now != nil {
		s.Connected, s.URL, s.Since, s.Fault = now.fault == "", now.url, now.since, now.fault
	}
	return s
}

func (t *traffic) read() (r Traffic) {
	r.Messages, r.Bytes = t.messages.Load(), t.bytes.Load()
	for i := range t.dropped {
		r.Dropped[i] = t.dropped[i].Load()
	}
	return r
}
