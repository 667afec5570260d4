package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/city"
	"paddock/internal/platform/events"
)

// byHTTP sends positions by POST /v1/positions, as newline-delimited JSON.
type byHTTP struct {
	platform *Platform
	client   http.Client
	body     bytes.Buffer
}

// SendByHTTP returns a way into p by HTTP, to be used once p has started.
func (p *Platform) SendByHTTP() Sender { return &byHTTP{platform: p} }

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
	if token := string(s.platform.cfg.HTTP.Token); token != "" {
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
