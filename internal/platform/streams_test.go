package platform

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"paddock/bus"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
	"paddock/internal/process/config"
)

// streams are the two streams of a cluster, as one server of JetStream has them that never fails.
// before is called before a request is acted on: with false the server does not get it. lost
// reports that the sender gets no answer.
type streams struct {
	log          *streamlog.Log // of one node
	connect      func() *nats.Conn
	cluster      streamlog.Config
	before, lost func(subject string) bool

	mu   sync.Mutex
	msgs map[string]map[uint64]*nats.Msg // by stream and sequence
	last map[string]uint64
}

func newStreams(t *testing.T) *streams {
	t.Helper()
	server, err := bus.New(bus.Config{Host: "127.0.0.1", Port: -1})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	s := &streams{cluster: LogOf(&config.Default().Cluster), before: func(string) bool { return true }, lost: func(string) bool { return false }, last: map[string]uint64{}}
	s.connect = func() *nats.Conn {
		nc, err := nats.Connect("nats://" + server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	s.msgs = map[string]map[uint64]*nats.Msg{s.cluster.Stream: {}, s.cluster.Stream + streamlog.SnapshotsSuffix: {}}
	nc := s.connect()
	for stream, subject := range map[string]string{s.cluster.Stream: s.cluster.Subject, s.cluster.Stream + streamlog.SnapshotsSuffix: s.cluster.Snapshots + ".>"} {
		s.serve(t, nc, subject, func(m *nats.Msg) any { return s.add(stream, m) })
	}
	for api, answer := range map[string]func(stream string, m *nats.Msg) any{
		"INFO": s.info, "PURGE": s.purge, "MSG.GET": s.get, "MSG.DELETE": s.remove,
	} {
		prefix := "$JS.API.STREAM." + api + "."
		s.serve(t, nc, prefix+"*", func(m *nats.Msg) any { return answer(strings.TrimPrefix(m.Subject, prefix), m) })
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if s.log, err = streamlog.Open(t.Context(), s.connect(), s.cluster); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *streams) serve(t *testing.T, nc *nats.Conn, subject string, answer func(*nats.Msg) any) {
	t.Helper()
	if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
		if !s.before(m.Subject) {
			return
		}
		s.mu.Lock()
		text, err := json.Marshal(answer(m))
		s.mu.Unlock()
		if err == nil && !s.lost(m.Subject) {
			err = m.Respond(text)
		}
		if err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

type object = map[string]any

// add stores a message behind the one that it expects.
func (s *streams) add(stream string, m *nats.Msg) any {
	newest := uint64(0)
	for sequence, other := range s.msgs[stream] {
		if other.Subject == m.Subject {
			newest = max(newest, sequence)
		}
	}
	for header, is := range map[string]uint64{jetstream.ExpectedLastSeqHeader: s.last[stream], jetstream.ExpectedLastSubjSeqHeader: newest} {
		if want := m.Header.Get(header); want != "" && want != strconv.FormatUint(is, 10) {
			return object{"error": object{"code": 400, "err_code": jetstream.JSErrCodeStreamWrongLastSequence, "description": "wrong last sequence"}}
		}
	}
	s.last[stream]++
	s.msgs[stream][s.last[stream]] = m
	return object{"stream": stream, "seq": s.last[stream]}
}

func (s *streams) info(stream string, m *nats.Msg) any {
	subjects := map[string]int{}
	first := s.last[stream] + 1
	for sequence, m := range s.msgs[stream] {
		subjects[m.Subject]++
		first = min(first, sequence)
	}
	state := object{"messages": len(s.msgs[stream]), "first_seq": first, "last_seq": s.last[stream]}
	if len(m.Data) > 0 {
		state["subjects"] = subjects
	}
	return object{"config": object{"name": stream, "metadata": object{"paddock.log": "Sz1eG9wZJ7yN0cXo3dQ2aB"}}, "state": state}
}

// request is that of a message, or of messages to remove.
type request struct {
	Seq    uint64
	Last   string `json:"last_by_subj"`
	Next   string `json:"next_by_subj"`
	Filter string
}

func (s *streams) get(stream string, m *nats.Msg) any {
	var r request
	if err := json.Unmarshal(m.Data, &r); err != nil {
		return object{}
	}
	sequences := slices.Sorted(maps.Keys(s.msgs[stream]))
	if r.Last != "" {
		slices.Reverse(sequences)
	}
	for _, sequence := range sequences {
		found := s.msgs[stream][sequence]
		if r.Last == found.Subject || r.Next == found.Subject && sequence >= r.Seq || r.Last+r.Next == "" && sequence == r.Seq {
			head := "NATS/1.0\r\n"
			for name, values := range found.Header {
				head += name + ": " + values[0] + "\r\n"
			}
			return object{"message": object{"subject": found.Subject, "seq": sequence, "data": found.Data, "hdrs": []byte(head + "\r\n"), "time": time.Now()}}
		}
	}
	return object{"error": object{"code": 404, "err_code": jetstream.JSErrCodeMessageNotFound}}
}

func (s *streams) purge(stream string, m *nats.Msg) any {
	var r request
	err := json.Unmarshal(m.Data, &r)
	maps.DeleteFunc(s.msgs[stream], func(_ uint64, m *nats.Msg) bool { return m.Subject == r.Filter })
	return object{"success": err == nil}
}

func (s *streams) remove(stream string, m *nats.Msg) any {
	var r request
	err := json.Unmarshal(m.Data, &r)
	delete(s.msgs[stream], r.Seq)
	return object{"success": err == nil}
}

// state returns the number of snapshots that are kept, and that of the log's messages.
func (s *streams) state(t *testing.T) (snapshots int, log uint64) {
	t.Helper()
	kept, err := s.log.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(kept), s.last[s.cluster.Stream]
}

// stoppedDir makes the data directory of a stopped platform.
func stoppedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := change(dir, func(j *journal.Disk) error { return j.Put(journal.Value{Name: "sheep", Bytes: []byte("3")}) }); err != nil {
		t.Fatal(err)
	}
	return dir
}

// No other process opens the journal while a snapshot is loaded that takes its place, or removes
// the files that are being written.
func TestNoOtherProcessWhileASnapshotIsLoaded(t *testing.T) {
	s := newStreams(t)
	if _, err := Migrate(t.Context(), stoppedDir(t), s.log, "v1", io.Discard); err != nil {
		t.Fatal(err)
	}
	kept, err := s.log.Snapshots(t.Context())
	if err != nil || len(kept) != 1 {
		t.Fatalf("%d snapshots, %v", len(kept), err)
	}
	cfg := config.Default()
	cfg.Data.Dir = stoppedDir(t)
	p := &Platform{cfg: cfg, log: slog.New(slog.DiscardHandler), member: &member{log: s.log}}
	looked := false
	s.before = func(string) bool {
		looked = true
		if err := tidy(cfg.Data.Dir); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("another start: %v", err)
		}
		work, err := filepath.Glob(filepath.Join(cfg.Data.Dir, unfinishedPrefix+"*"))
		if err = errors.Join(err, removeUnfinished(cfg.Data.Dir)); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(cfg.Data.Dir, unfinishedPrefix+"*")); len(work) != 1 || len(left) != 1 {
			t.Errorf("%q are left of %q", left, work)
		}
		return true
	}
	if err := p.loadSnapshot(t.Context(), kept[0]); err != nil || !looked {
		t.Fatal(err)
	}
	if err := change(cfg.Data.Dir, func(j *journal.Disk) error {
		if id, err := attached(j); id != s.log.ID {
			t.Errorf("the journal is of the log %q, %v", id, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.Data.Dir, unfinishedPrefix+"*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A state is that of the cluster also if the answer to the last message is lost. If the servers
// have not stored it, that is told, and another call stores the state of the directory by then.
func TestMigrateWithoutAnAnswer(t *testing.T) {
	for _, stored := range []bool{true, false} {
		s := newStreams(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begins := func(subject string) bool {
			if subject == s.cluster.Subject {
				cancel() // as the time is over
				return true
			}
			return false
		}
		if s.lost = begins; !stored {
			s.before = func(subject string) bool { return !begins(subject) }
		}
		dir := stoppedDir(t)
		_, err := Migrate(ctx, dir, s.log, "v1", io.Discard)
		if stored != (err == nil) || err != nil && !strings.Contains(err.Error(), "give the command again") {
			t.Errorf("stored: %v: %v", stored, err)
		}
		s.before, s.lost = func(string) bool { return true }, func(string) bool { return false }
		if !stored {
			first, _ := s.log.Snapshots(t.Context())
			again, err := Migrate(t.Context(), dir, s.log, "v1", io.Discard)
			if err != nil || len(first) != 1 || first[0].ID == again.ID {
				t.Errorf("again: %v, behind %d snapshots", err, len(first))
			}
		}
		if snapshots, last := s.state(t); snapshots != 1 || last != streamlog.BaseSequence {
			t.Errorf("%d snapshots, and %d messages of the log", snapshots, last)
		}
		if _, err := Migrate(t.Context(), dir, s.log, "v1", io.Discard); err == nil || !strings.Contains(err.Error(), "start the nodes with it") {
			t.Errorf("a third call: %v", err)
		}
	}
}

type writer func([]byte) error

func (w writer) Write(b []byte) (int, error) { return len(b), w(b) }

// A cluster whose first node begins during a migration keeps no snapshot of it.
func TestMigrateBesideANode(t *testing.T) {
	s := newStreams(t)
	node, err := streamlog.Open(t.Context(), s.connect(), s.cluster)
	if err != nil {
		t.Fatal(err)
	}
	claims := sync.OnceValue(func() error {
		_, err := node.Claim(t.Context(), "a")
		return err
	})
	_, err = Migrate(t.Context(), stoppedDir(t), s.log, "v1", writer(func([]byte) error { return claims() }))
	if err == nil || !strings.Contains(err.Error(), "a node of the cluster was started meanwhile") {
		t.Error(err)
	}
	if snapshots, last := s.state(t); snapshots != 0 || last != 1 {
		t.Errorf("%d snapshots, and %d messages of the log", snapshots, last)
	}
}
