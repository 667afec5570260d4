package platform

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/city"
	"paddock/internal/platform/events"
	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/lifecycle"
	"paddock/wire"
)

const (
	// trafficTick is the interval of moves. At each tick a part of the vehicles reports, so that
	// the load is even.
	trafficTick = 200 * time.Millisecond
	// trafficTimeout bounds one report, so that a hanging demo logs an error.
	trafficTimeout = 10 * time.Second
	// trafficFleet is the fleet of all vehicles.
	trafficFleet = "city"
)

// Traffic sends the positions of a simulated fleet over HTTP or wire, like any client.
type Traffic struct {
	Fleet  *city.Fleet
	Every  time.Duration // between two reports of a vehicle; a multiple of 200 ms, else the next one below
	Send   Sender
	Logger *slog.Logger

	stop, done chan struct{}
	fixes, due []city.Fix
}

// Sender sends the traffic's positions to a platform. One goroutine uses it.
type Sender interface {
	// Send returns once the positions have been accepted.
	Send(ctx context.Context, fixes []city.Fix, at time.Time) error
	Close()
}

// Service returns the traffic as a service. Add it after the platform's, so that it drains first.
func (t *Traffic) Service() lifecycle.Service {
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	return lifecycle.Service{
		Name: "traffic",
		Run:  t.run,
		Drain: func(ctx context.Context) error {
			close(t.stop)
			select {
			case <-t.done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// run moves the fleet until the traffic is drained.
func (t *Traffic) run(ctx context.Context) error {
	defer close(t.done)
	defer t.Send.Close()
	ticker := time.NewTicker(trafficTick)
	defer ticker.Stop()
	groups := max(1, int(t.Every/trafficTick))
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-t.stop:
			return nil
		case <-ctx.Done():
			return nil
		}
		t.fixes = t.Fleet.Step(trafficTick, t.fixes[:0])
		if err := t.report(ctx, n%groups, groups); err != nil {
			t.Logger.Warn("the traffic's positions were not accepted", "error", err)
		}
	}
}

// report sends the positions of one group of the vehicles.
func (t *Traffic) report(ctx context.Context, group, groups int) error {
	t.due = t.due[:0]
	for _, f := range t.fixes {
		if f.Vehicle%groups == group {
			t.due = append(t.due, f)
		}
	}
	if len(t.due) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trafficTimeout)
	defer cancel()
	return t.Send.Send(ctx, t.due, time.Now())
}

// byHTTP sends positions by POST /v1/positions, as newline-delimited JSON.
type byHTTP struct {
	platform *Platform
	client   http.Client
	body     bytes.Buffer
}

// SendByHTTP returns a Sender over HTTP, for use once p has started.
func (p *Platform) SendByHTTP() Sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = p.httpFiles.Pinned()
	return &byHTTP{platform: p, client: http.Client{Transport: transport}}
}

func (s *byHTTP) Close() { s.client.CloseIdleConnections() }

// encode writes a line for each fix.
func (s *byHTTP) encode(fixes []city.Fix, at time.Time) {
	s.body.Reset()
	for i := range fixes {
		f := &fixes[i]
		b := s.body.AvailableBuffer()
		b = append(b, `{"id":"`...)
		b = append(b, f.ID...)
		b = append(b, `","fleet":"`+trafficFleet+`","lon":`...)
		b = events.AppendFloat(b, f.Lon)
		b = append(b, `,"lat":`...)
		b = events.AppendFloat(b, f.Lat)
		b = append(b, `,"t":`...)
		b = strconv.AppendInt(b, at.UnixMilli(), 10)
		b = append(b, `,"speed":`...)
		b = strconv.AppendFloat(b, f.Speed, 'f', 1, 64)
		b = append(b, `,"heading":`...)
		b = strconv.AppendFloat(b, f.Heading, 'f', 0, 64)
		b = append(b, `,"accuracy":`...)
		b = strconv.AppendFloat(b, f.Accuracy, 'f', 1, 64)
		_, _ = s.body.Write(append(b, "}\n"...)) // a Buffer takes everything
	}
}

func (s *byHTTP) Send(ctx context.Context, fixes []city.Fix, at time.Time) error {
	s.encode(fixes, at)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.platform.URL()+"v1/positions", bytes.NewReader(s.body.Bytes()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if token := cmp.Or(string(s.platform.cfg.HTTP.Token), s.platform.ownKey); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	var result struct {
		Rejected []struct{ Reason string }
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(answer))
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return err
	}
	if n := len(result.Rejected); n > 0 {
		return fmt.Errorf("%d rejected, the first because: %s", n, result.Rejected[0].Reason)
	}
	return nil
}

// byWire sends positions as acknowledged posts over one connection, and reconnects after it has
// ended.
type byWire struct {
	platform *Platform
	conn     *wire.Conn // nil: none
	body     []byte
}

// SendByWire returns a Sender over wire, for use once p has started.
func (p *Platform) SendByWire() Sender { return &byWire{platform: p} }

func (s *byWire) Close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// connect dials if there is no connection.
func (s *byWire) connect(ctx context.Context) (err error) {
	if s.conn != nil && s.conn.Err() == nil {
		return nil
	}
	s.Close()
	p := s.platform
	cfg := &wire.Config{Agent: "paddock demo", Logger: p.log, TLS: p.wireFiles.Pinned()}
	if token := cmp.Or(string(p.cfg.Wire.Token), p.ownKey); token != "" {
		cfg.Auth = wire.TokenAuth(ownKeyName, []byte(token))
	}
	addr := p.WireAddr()
	s.conn, err = wire.Dial(ctx, addr.Network(), addr.String(), cfg)
	return err
}

func (s *byWire) Send(ctx context.Context, fixes []city.Fix, at time.Time) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	var last uint64
	for i := range fixes {
		f := &fixes[i]
		var err error
		if s.body, err = position.Append(s.body[:0], &position.Position{
			Fleet: trafficFleet, ID: f.ID, Time: at.UnixMilli(), Lon: f.Lon, Lat: f.Lat,
			Speed: position.Known(float32(f.Speed)), Heading: position.Known(float32(f.Heading)),
			Accuracy: position.Known(float32(f.Accuracy)),
		}); err != nil {
			return err
		}
		if last, err = s.conn.PostAck(ctx, wireapi.KindUpdate, s.body); err != nil {
			return err
		}
	}
	return s.conn.WaitAcked(ctx, last)
}
