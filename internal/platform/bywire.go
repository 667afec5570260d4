package platform

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"time"

	"paddock/internal/city"
	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// byWire sends positions as acknowledged posts over one connection, which it makes
// again when it has ended.
type byWire struct {
	platform *Platform
	conn     *wire.Conn // nil: none
	body     []byte
}

// SendByWire returns a way into p by wire, to be used once p has started.
func (p *Platform) SendByWire() Sender { return &byWire{platform: p} }

func (s *byWire) Close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// connect makes the connection if there is none.
func (s *byWire) connect(ctx context.Context) (err error) {
	if s.conn != nil && s.conn.Err() == nil {
		return nil
	}
	s.Close()
	p := s.platform
	cfg := &wire.Config{Agent: "paddock demo", Logger: p.log, TLS: p.pinned()}
	if token := string(p.cfg.Wire.Token); token != "" {
		cfg.Auth = wire.TokenAuth("demo", []byte(token))
	}
	addr := p.WireAddr()
	s.conn, err = wire.Dial(ctx, addr.Network(), addr.String(), cfg)
	return err
}

// pinned is a client's TLS that trusts p's own certificate and no other.
func (p *Platform) pinned() *tls.Config {
	if p.wireTLS == nil {
		return nil
	}
	own := p.wireTLS.Certificates[0].Certificate[0]
	return &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection takes its place
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, own) {
				return errors.New("this is not the platform's own certificate")
			}
			return nil
		},
	}
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
