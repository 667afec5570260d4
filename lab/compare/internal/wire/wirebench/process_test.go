package wirebench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/wire/peers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting is a peer that has received 3 messages of 64 bytes from the start.
var counting = peers.Peer{
	Serve: func(svc *peers.Service) (func() error, error) {
		svc.Sink.Add(3, 3*peers.SmallSize)
		return svc.Listener.Close, nil
	},
}

func TestServeAnswersCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	var in, out bytes.Buffer
	commands := json.NewEncoder(&in)
	for _, c := range []command{
		{Do: "received"},
		{Do: "await", Bytes: 192},
		{Do: "await", Bytes: 193, Limit: time.Microsecond},
		{Do: "await", Bytes: 192, Limit: time.Minute},
		{Do: "sing"},
		{Do: "profile", File: file},
		{Do: "profile", File: filepath.Join(file, "none")},
	} {
		if err := commands.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := Serve(counting, true, &in, &out); err != nil {
		t.Fatal(err)
	}
	replies := json.NewDecoder(&out)
	for i, wantError := range []string{"", "", "", "", "", "no such command", "", "not a directory"} {
		var r reply
		if err := replies.Decode(&r); err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
		if (r.Error == "") != (wantError == "") || !strings.Contains(r.Error, wantError) {
			t.Errorf("reply %d: the error %q, want %q", i, r.Error, wantError)
		}
		if first := i == 0; first != strings.HasPrefix(r.Addr, "127.0.0.1:") || first != (r.Certificate != nil) || first != (r.Messages != 3 || r.Bytes != 192) {
			t.Errorf("reply %d: %+v", i, r)
		}
	}
	if err := replies.Decode(new(reply)); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last reply: %v", err)
	}
}

func TestServeSaysWhyItDoesNot(t *testing.T) {
	peer := peers.Peer{Serve: func(*peers.Service) (func() error, error) { return nil, io.ErrUnexpectedEOF }}
	var out bytes.Buffer
	if err := Serve(peer, false, strings.NewReader(""), &out); err == nil || !strings.Contains(out.String(), `"Error":"unexpected EOF"`) {
		t.Errorf("got %q and %v", out.String(), err)
	}
}
