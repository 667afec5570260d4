package loadbench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"paddock/bus"
	"paddock/lab/compare/internal/harness/measure"
)

// Each publisher sends for the time that it is given, and says how much the server got.
func TestPublish(t *testing.T) {
	for _, peer := range []string{natsPeer, bufioPeer} {
		t.Run(peer, func(t *testing.T) {
			s, err := bus.New(bus.Config{Port: -1})
			if err == nil {
				err = s.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Shutdown(t.Context())
			args, err := publishArgs(peer)(&order{op: opPublish, addr: s.Addr().String(), duration: 20 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Publish(args[1:], &out); err != nil {
				t.Fatal(err)
			}
			m := &measure.Measurement{Figures: map[string]float64{}}
			if err := readPublished(out.String(), m); err != nil {
				t.Fatal(err)
			}
			if got := s.Stats().InMsgs; got != uint64(m.Ops) || m.Ops < publishLook || m.Elapsed < 20*time.Millisecond {
				t.Errorf("the server got %d messages of %+v", got, m)
			}
		})
	}
}

// Mistakes in the arguments are reported, and so is a server that is not there.
func TestPublishMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"": "want publish and nats.go|bufio ADDRESS DURATION", "raw x 1s": `no publisher "raw"`, "bufio x soon": "invalid duration",
		"bufio 127.0.0.1:0 1s": "refused", "nats.go 127.0.0.1:0 1s": "no servers",
	} {
		if err := Publish(strings.Fields(args), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
