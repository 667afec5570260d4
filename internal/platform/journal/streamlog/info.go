package streamlog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// infoAge is the time for which an Info is given again, and infoTimeout bounds the request.
	infoAge     = time.Second
	infoTimeout = 2 * time.Second
	// silentReplica is the time after which a server that the stream's leader does not hear is
	// offline. The servers call it offline only after it has left in good order. One that the
	// leader has never heard, as the leader before it that was lost, is offline at once: its time
	// is 0.
	silentReplica = 5 * time.Second
)

// Info is the state of the stream.
type Info struct {
	Stream   string    `json:"stream"`
	First    uint64    `json:"first"` // sequences; of an empty stream First is Last + 1
	Last     uint64    `json:"last"`
	Messages uint64    `json:"messages"`
	Bytes    uint64    `json:"bytes"`
	Wanted   int       `json:"replicas_wanted"`
	Replicas []Replica `json:"replicas"` // the leader of the stream is the first one
}

// Replica is a server that keeps the stream.
type Replica struct {
	Name  string `json:"name"`
	State string `json:"state"` // one of the states below
	Lag   uint64 `json:"lag"`   // messages that it does not have yet, as far as the leader knows
}

// The states of a replica.
const (
	ReplicaLeader  = "leader"
	ReplicaCurrent = "current"
	ReplicaBehind  = "behind"
	ReplicaOffline = "offline"
)

// ReplicaStates lists the states.
var ReplicaStates = []string{ReplicaLeader, ReplicaCurrent, ReplicaBehind, ReplicaOffline}

// Count returns the number of replicas in a state.
func (i *Info) Count(state string) (n int) {
	for _, r := range i.Replicas {
		if r.State == state {
			n++
		}
	}
	return n
}

// lastInfo is the answer that was given last.
type lastInfo struct {
	mu   sync.Mutex // held during a request
	at   time.Time
	info *Info
	err  error
}

// Info returns the state of the stream, which may be a second old. An error may mean that the
// stream has no leader, as without a majority of its servers.
func (l *Log) Info(ctx context.Context) (*Info, error) {
	k := &l.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.at) < infoAge {
		return k.info, k.err
	}
	bounded, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	stream, err := l.js.Stream(bounded, l.Stream)
	if ctx.Err() != nil {
		return nil, ctx.Err() // this caller's alone
	}
	k.at, k.info, k.err = time.Now(), nil, err
	if err == nil {
		k.info = infoOf(stream.CachedInfo())
	}
	return k.info, k.err
}

func infoOf(s *jetstream.StreamInfo) *Info {
	i := &Info{
		Stream: s.Config.Name, Wanted: max(s.Config.Replicas, 1),
		First: s.State.FirstSeq, Last: s.State.LastSeq, Messages: s.State.Msgs, Bytes: s.State.Bytes,
		Replicas: []Replica{},
	}
	if s.Cluster == nil {
		return i
	}
	if s.Cluster.Leader != "" {
		i.Replicas = append(i.Replicas, Replica{Name: s.Cluster.Leader, State: ReplicaLeader})
	}
	for _, p := range s.Cluster.Replicas {
		r := Replica{p.Name, ReplicaBehind, p.Lag}
		switch {
		case p.Offline, !p.Current && (p.Active > silentReplica || p.Active == 0):
			r.State = ReplicaOffline
		case p.Current:
			r.State = ReplicaCurrent
		}
		i.Replicas = append(i.Replicas, r)
	}
	return i
}

// Retries are kinds of errors after which a message was sent again.
var Retries = []string{"timeout", "no_responders", "unavailable", "disconnected", "sequence", "other"}

// retryKind returns the index of an error's kind in Retries.
func retryKind(err error) int {
	api, _ := errors.AsType[*jetstream.APIError](err)
	switch {
	case wrongSequence(err):
		return 4
	case api != nil && api.Code == 503:
		return 2
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return 1
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return 0
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting):
		return 3
	}
	return len(Retries) - 1
}

// counters count what happens to the messages of a log.
type counters struct {
	retries [6]atomic.Uint64 // by their kinds
	gaps    atomic.Uint64
}

// Stats are counts since Open.
type Stats struct {
	Retries map[string]uint64 // messages that were sent again, by the kinds of Retries
	Gaps    uint64            // places at which a reader missed copies, and asked for them
}

// Stats returns the counts.
func (l *Log) Stats() Stats {
	s := Stats{Retries: make(map[string]uint64, len(Retries)), Gaps: l.counts.gaps.Load()}
	for i, name := range Retries {
		s.Retries[name] = l.counts.retries[i].Load()
	}
	return s
}
