package perf

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/wire"
)

// perfServer serves the kinds of this package.
type perfServer struct {
	instance string
	ledger   ledger
	floors   floors
	journal  *Journal // nil: there is none
	witness  *witness // may be nil
	delay    time.Duration
	log      *slog.Logger

	abandoned atomic.Int64 // handlers whose caller has gone

	mu    sync.Mutex
	known map[Lane]uint64 // the last number that the journal has
}

// mux registers the handlers. A handler that needs only the bytes at hand runs on the connection's
// reader.
func (s *perfServer) mux() *wire.Mux {
	m := wire.NewMux()
	m.HandlePosts(KindPost, s.posts, wire.Inline())
	wire.Handle(m, KindRequest, echo, wire.Inline())
	m.HandleStream(KindStreamTx, s.streamTx)
	m.HandleStream(kindStreamRx, s.streamRx)
	wire.Handle(m, kindReport, s.report)
	wire.Handle(m, kindFloor, s.floor)
	m.HandlePosts(kindVerifyPost, s.verifyPosts)
	m.HandlePosts(kindVerifyAcked, s.verifyPosts)
	wire.Handle(m, kindVerifyRequest, s.verifyRequest)
	m.HandleStream(kindVerifyStream, s.verifyStream)
	wire.Handle(m, kindVerifyReport, s.verifyReport)
	return m
}

// posts does nothing with posts, unless their sender wants to know that they are
// kept.
func (s *perfServer) posts(_ context.Context, p *wire.Posts) error { return s.keep(p) }

// verifyPosts enters the bodies, and keeps those whose sender wants to know. A
// corrupt one is kept as well: it was acknowledged.
func (s *perfServer) verifyPosts(_ context.Context, p *wire.Posts) (err error) {
	c := classPost
	if p.Acknowledged() {
		c = classAcked
	}
	if err := s.witness.see(c, p.All()); err != nil {
		return err
	}
	if err := s.keep(p); err != nil {
		return err
	}
	for _, body := range p.All() {
		if _, e := s.ledger.take(c, body); e != nil {
			err = e
		}
	}
	return err
}

// keep brings acknowledged posts into the journal. If that fails the connection
// ends: they must not be acknowledged.
func (s *perfServer) keep(p *wire.Posts) error {
	if s.journal == nil || !p.Acknowledged() {
		return nil
	}
	session := p.Session()
	if session == nil {
		session = &wire.Session{} // numbered, but for this connection alone
	}
	at := Lane{session.ID, session.Epoch, session.Index}
	records := make([]Acked, 0, p.Len())
	for number, body := range p.All() {
		id, _ := parseBody(body) // zero if it is none: that is no matter of the journal's
		records = append(records, Acked{Lane: at, Number: number, Checksum: checksum(body), body: id})
	}
	if err := s.journal.Append(records); err != nil {
		s.log.Error("cannot keep acknowledged posts", "error", err)
		p.Conn().Abort(wire.Internal)
		return err
	}
	s.note(records)
	return nil
}

// echo answers with the body, which is borrowed and copied into the output.
func echo(_ context.Context, body []byte) ([]byte, error) { return body, nil }

// streamTx counts messages.
func (s *perfServer) streamTx(_ context.Context, stream *wire.Stream) error {
	var count uint64
	var message []byte
	for {
		var err error
		message, err = stream.ReadMsg(message[:0])
		if errors.Is(err, io.EOF) {
			return stream.WriteMsg(binary.LittleEndian.AppendUint64(nil, count))
		}
		if err != nil {
			return err
		}
		count++
	}
}

// streamRx sends as many bytes as the first bytes order.
func (s *perfServer) streamRx(_ context.Context, stream *wire.Stream) error {
	first := make([]byte, orderSize)
	if _, err := io.ReadFull(stream, first); err != nil {
		return err
	}
	order, err := parseOrder(first)
	if err != nil {
		return &wire.Error{Code: wire.InvalidArgument, Msg: err.Error()}
	}
	message := make([]byte, order.Payload)
	for i := range message {
		message[i] = pattern[i%fillPeriod]
	}
	return writeMessages(stream, message, order.Messages)
}

func (s *perfServer) report(ctx context.Context, _ []byte) ([]byte, error) {
	r := serverReport{Instance: s.instance, Usage: usage(), Corrupt: s.ledger.spoilt()}
	r.Stats = wire.ConnFrom(ctx).Stats().Map()
	return json.Marshal(r)
}

func (s *perfServer) floor(ctx context.Context, _ []byte) ([]byte, error) {
	// The port outlives this request, whose context ends with it.
	place, err := s.floors.listen(context.WithoutCancel(ctx), wire.ConnFrom(ctx).LocalAddr())
	if err != nil {
		return nil, &wire.Error{Code: wire.ResourceExhausted, Msg: err.Error(), NotStarted: true}
	}
	return json.Marshal(place)
}

func (s *perfServer) verifyReport(_ context.Context, body []byte) ([]byte, error) {
	var q laneQuery
	if err := json.Unmarshal(body, &q); err != nil || q.Class >= classes {
		return nil, &wire.Error{Code: wire.InvalidArgument, Msg: "no query for a lane"}
	}
	return json.Marshal(s.ledger.report(q))
}

// verifyRequest records the body and answers it. An invalid body is answered with an error, and
// counted.
func (s *perfServer) verifyRequest(ctx context.Context, body []byte) ([]byte, error) {
	if err := s.begin(ctx, classRequest, body); err != nil {
		return nil, err
	}
	if _, err := s.ledger.take(classRequest, body); err != nil {
		return nil, dataLoss(err)
	}
	answer := append([]byte(nil), body...)
	toAnswer(answer)
	return answer, nil
}

// begin notes that the call is here, and lets time pass if it is to.
func (s *perfServer) begin(ctx context.Context, c class, body []byte) error {
	if err := s.witness.seeOne(c, body); err != nil || s.delay == 0 {
		return err
	}
	err := lifecycle.Sleep(ctx, s.delay)
	if err != nil {
		s.abandoned.Add(1)
	}
	return err
}

// verifyStream answers each message and enters the stream at its end, if its
// messages came in order.
func (s *perfServer) verifyStream(ctx context.Context, stream *wire.Stream) error {
	var message []byte
	var id bodyID
	for i := uint64(0); ; i++ {
		var err error
		message, err = stream.ReadMsg(message[:0])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		got, err := parseBody(message)
		if i == 0 {
			id = got
			if err := s.begin(ctx, classStream, message); err != nil {
				return err
			}
		}
		if err == nil && (got.run != id.run || got.lane != id.lane || got.seq != id.seq+i) {
			err = fmt.Errorf("%w: message %d of the stream is %x", errBody, i, got.seq)
		}
		if err != nil {
			s.ledger.spoiled(classStream)
			return dataLoss(err)
		}
		toAnswer(message)
		if err := stream.WriteMsg(message); err != nil {
			return err
		}
	}
	id.seq >>= messageBits
	return s.ledger.enterOne(classStream, id)
}

func dataLoss(err error) error { return &wire.Error{Code: wire.DataLoss, Msg: err.Error()} }

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }
