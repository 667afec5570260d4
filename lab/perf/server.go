package perf

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"paddock/wire"
)

// ServerOptions configure a perf server.
type ServerOptions struct {
	Token   string      // that clients must bring; "": none
	TLS     *tls.Config // nil: plain
	Journal string      // file of acknowledged posts; "": none
	Seen    string      // file of the verified bodies that have reached a handler, before it ran; "": none
	// Delay is how long verified requests and streams wait between Seen and their first
	// answer, so that a crash finds some that have had an effect and were not answered.
	Delay  time.Duration
	Logger *slog.Logger // nil: slog.Default
}

// Server is the perf server.
type Server struct {
	perf     *perfServer
	sessions *wire.Sessions
	wire     *wire.Server
}

// NewServer reads the journal and makes a server ready.
func NewServer(o ServerOptions) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &perfServer{instance: rand.Text(), log: o.Logger, delay: o.Delay, known: map[Lane]uint64{}}
	if o.Journal != "" {
		journal, err := OpenJournal(o.Journal, s.remember)
		if err != nil {
			return nil, err
		}
		s.journal = journal
	}
	witness, err := newWitness(o.Seen)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.witness = witness
	config := s.config(o)
	return &Server{s, config.Sessions, &wire.Server{Config: config, MaxConns: maxConns}}, nil
}

// close closes the files.
func (s *perfServer) close() error {
	err := s.witness.close()
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	return err
}

func (s *perfServer) config(o ServerOptions) *wire.Config {
	return &wire.Config{
		Agent: "paddock wire serve", Mux: s.mux(), TLS: o.TLS, Verify: wantToken(o.Token),
		Sessions: &wire.Sessions{Known: s.handled}, MaxMessage: maxMessage, Logger: o.Logger,
	}
}

// remember records the content of a journal at the start.
func (s *perfServer) remember(a Acked) {
	s.note([]Acked{a})
	if a.body != (bodyID{}) {
		_ = s.ledger.enterOne(classAcked, a.body) // too many lanes: the report will miss them
	}
}

// note records the numbers of the journal's records.
func (s *perfServer) note(records []Acked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range records {
		if a.Session != ([16]byte{}) {
			s.known[a.Lane] = max(s.known[a.Lane], a.Number)
		}
	}
}

// handled is wire.Sessions.Known.
func (s *perfServer) handled(of wire.Session) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[Lane{of.ID, of.Epoch, of.Index}]
}

// Serve answers on the listener until Shutdown, and returns nil then.
func (s *Server) Serve(l net.Listener) error { return s.wire.Serve(l) }

// Shutdown drains: calls in flight are finished, as far as ctx allows.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.wire.Shutdown(ctx)
	s.perf.floors.close()
	return errors.Join(err, s.perf.close())
}

// ServerStats are the counts of connections and of sessions, and of handlers whose
// caller went away while they waited for ServerOptions.Delay.
type ServerStats struct {
	Server    wire.ServerStats
	Sessions  wire.SessionStats
	Abandoned int64
}

// Stats are the counts so far.
func (s *Server) Stats() ServerStats {
	return ServerStats{s.wire.Stats(), s.sessions.Stats(), s.perf.abandoned.Load()}
}
