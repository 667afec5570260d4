package streamlog

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// createAttempt bounds one attempt to make the streams. Servers that have not elected a leader
	// of JetStream yet do not answer at all.
	createAttempt = 5 * time.Second
	createPause   = 250 * time.Millisecond
	// errNoPeers is the code of a server that has not heard of enough others yet.
	errNoPeers jetstream.ErrorCode = 10005
)

// CreateInTime is [Create], again and again until ctx ends, while the servers are not ready.
func CreateInTime(ctx context.Context, nc *nats.Conn, c Config) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, createAttempt)
		err := Create(bounded, nc, c)
		cancel()
		if err == nil || !unready(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(createPause):
		}
	}
}

// unready reports whether an error may end when the servers are ready.
func unready(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch api.ErrorCode {
		case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
			return false
		}
		return api.Code == 503 || api.ErrorCode == errNoPeers
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
}
