package wirebench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/wire/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting is a peer that has received 3 messages of 64 bytes from the start.
var counting = peers.Peer{
	Serve: func(svc *peers.Service) (func() error, error) {
		svc.Sink.Counter().Add(3, 3*peers.SmallSize)
		return svc.Listener.Close, nil
	},
}

func TestServeAnswersLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	in := strings.Join([]string{
		"received", "await 3 192 0", "await 4 192 1000", "await 3 192 60000000000", "await soon", "sing",
		fmt.Sprintf(lineProfile, file), fmt.Sprintf(lineProfile, filepath.Join(file, "none")),
	}, "\n")
	var out bytes.Buffer
	if err := Serve(counting, true, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		"ready 127.0.0.1:", "received 3 192", "received 3 192", "received 3 192", "received 3 192",
		"error ", "error no such command", "profiling", "error ",
	}
	if len(lines) != len(want) {
		t.Fatalf("got %q", lines)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: got %q, want %q", i, line, want[i])
		}
	}
}

func TestServeSaysWhyItDoesNot(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("not over TLS: %w", errors.ErrUnsupported), "unsupported not over TLS: unsupported operation\n"},
		{io.ErrUnexpectedEOF, "error unexpected EOF\n"},
	} {
		peer := peers.Peer{Serve: func(*peers.Service) (func() error, error) { return nil, tc.err }}
		var out bytes.Buffer
		err := Serve(peer, false, strings.NewReader(""), &out)
		if out.String() != tc.want || errors.Is(tc.err, errors.ErrUnsupported) != (err == nil) {
			t.Errorf("got %q and %v, want %q", out.String(), err, tc.want)
		}
	}
}
