package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"paddock/internal/platform"
	"paddock/internal/process/config"
)

// cancelling ends a context at the first write.
type cancelling context.CancelFunc

func (c cancelling) Write(b []byte) (int, error) {
	c()
	return len(b), nil
}

// A platform that starts again in its process, at a terminal, logs as before.
func TestServeAgainAtATerminal(t *testing.T) {
	t.Parallel()
	master, slave := pseudoTerminal(t)
	var log logText
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(&log, master) // until the other end is closed, which is an error
		close(copied)
	}()
	cfg := config.Default()
	cfg.HTTP.Listen, cfg.Bus.Listen, cfg.Wire.Listen, cfg.Sets.Snapshots = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "off"
	c := &console{Stderr: slave}
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		c.Stdout = cancelling(cancel)
		if _, err := serve(ctx, c, platform.Options{Config: cfg}, nil, nil); err != nil {
			t.Error(err)
		}
	}
	slave.Close()
	<-copied
	if text := log.String(); strings.Count(text, "msg=stopped") != 2 || strings.Contains(text, "{") {
		t.Errorf("the log:\n%s", text)
	}
}
