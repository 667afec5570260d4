package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/city"
	"paddock/internal/events"
	"paddock/internal/lifecycle"
)

const (
	// trafficTick is how often the vehicles move. Each tick, a part of them
	// reports, so that the load is even.
	trafficTick = 200 * time.Millisecond
	// trafficTimeout is for one request; a demo that hangs should say so.
	trafficTimeout = 10 * time.Second
)

// Traffic drives a simulated fleet through the front door: its vehicles report
// by POST /v1/positions like anybody else's.
type Traffic struct {
	Fleet  *city.Fleet
	Every  time.Duration // between two reports of a vehicle
	URL    func() string // of the platform, once it has started
	Token  string
	Logger *slog.Logger

	stop, done chan struct{}
	fixes      []city.Fix
	body       bytes.Buffer
}

// Service returns the traffic as the front-most service of a group.
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
	ticker := time.NewTicker(trafficTick)
	defer ticker.Stop()
	client := &http.Client{Timeout: trafficTimeout}
	defer client.CloseIdleConnections()
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
		t.encode(n%groups, groups)
		if err := t.post(ctx, client); err != nil {
			t.Logger.Warn("the traffic's positions were not taken", "error", err)
		}
	}
}

// encode writes the reports of one group of the vehicles as a line each.
func (t *Traffic) encode(group, groups int) {
	t.body.Reset()
	now := time.Now()
	for i := range t.fixes {
		f := &t.fixes[i]
		if f.Vehicle%groups != group {
			continue
		}
		b := t.body.AvailableBuffer()
		b = append(b, `{"id":"`...)
		b = append(b, f.ID...)
		b = append(b, `","fleet":"city","lon":`...)
		b = events.AppendFloat(b, f.Lon)
		b = append(b, `,"lat":`...)
		b = events.AppendFloat(b, f.Lat)
		b = append(b, `,"t":`...)
		b = strconv.AppendInt(b, now.UnixMilli(), 10)
		b = append(b, `,"speed":`...)
		b = strconv.AppendFloat(b, f.Speed, 'f', 1, 64)
		b = append(b, `,"heading":`...)
		b = strconv.AppendFloat(b, f.Heading, 'f', 0, 64)
		b = append(b, `,"accuracy":`...)
		b = strconv.AppendFloat(b, f.Accuracy, 'f', 1, 64)
		_, _ = t.body.Write(append(b, "}\n"...)) // a Buffer takes everything
	}
}

func (t *Traffic) post(ctx context.Context, client *http.Client) error {
	if t.body.Len() == 0 {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL()+"v1/positions", bytes.NewReader(t.body.Bytes()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if t.Token != "" {
		req.Header.Set("Authorization", "Bearer "+t.Token)
	}
	resp, err := client.Do(req)
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
