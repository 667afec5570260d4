package agent

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"paddock/internal/platform/ingest"
	"paddock/internal/process/lifecycle"
)

const (
	// gpsdSilence is the longest silence of gpsd, which reports every second.
	gpsdSilence = time.Minute
	// gpsdRetryMin and gpsdRetryMax bound the wait before the next dial.
	gpsdRetryMin = time.Second
	gpsdRetryMax = 30 * time.Second
)

// gpsdSource reads positions from a gpsd: its JSON protocol over TCP, reports of class TPV with a
// fix in two or three dimensions.
type gpsdSource struct {
	source  *source
	address string
	log     *slog.Logger
}

// run keeps a connection to gpsd until ctx ends.
func (g *gpsdSource) run(ctx context.Context) error {
	for wait := gpsdRetryMin; ; wait = min(2*wait, gpsdRetryMax) {
		began := time.Now()
		err := g.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		g.log.Warn("no connection to gpsd", "address", g.address, "error", err)
		if time.Since(began) > gpsdRetryMax {
			wait = gpsdRetryMin
		}
		if lifecycle.Sleep(ctx, wait/2+rand.N(wait/2)) != nil {
			return nil
		}
	}
}

// follow reads one connection.
func (g *gpsdSource) follow(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", g.address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	if _, err := io.WriteString(conn, "?WATCH={\"enable\":true,\"json\":true};\n"); err != nil {
		return err
	}
	in := bufio.NewReaderSize(conn, maxLine)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(gpsdSilence))
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if err := g.take(line); err != nil {
			g.log.Warn("a fix was rejected", "error", err)
		}
	}
}

// report is the decoded part of a line; gpsd_json(5) documents the rest.
type report struct {
	Class string   `json:"class"`
	Mode  int      `json:"mode"` // 2 and 3 are fixes
	Time  *string  `json:"time"` // RFC 3339
	Lat   *float64 `json:"lat"`
	Lon   *float64 `json:"lon"`
	EPH   *float64 `json:"eph"`   // metres, horizontal error
	Speed *float64 `json:"speed"` // metres per second
	Track *float64 `json:"track"` // degrees clockwise from north
	// Metres above mean sea level. Gpsd before version 3.20 has the second name alone.
	AltMSL *float64 `json:"altMSL"`
	Alt    *float64 `json:"alt"`
}

// take keeps the fix of a line, if there is one.
func (g *gpsdSource) take(line []byte) error {
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		g.source.rejected.Add(1)
		return fmt.Errorf("a line of gpsd: %w", err)
	}
	if r.Class != "TPV" || r.Mode < 2 || r.Lat == nil || r.Lon == nil {
		return nil
	}
	fix, err := json.Marshal(map[string]any{
		"lon": r.Lon, "lat": r.Lat, "t": r.Time, "accuracy": r.EPH, "speed": r.Speed, "heading": r.Track,
		"altitude": cmp.Or(r.AltMSL, r.Alt),
	})
	if err != nil {
		return err
	}
	dec := g.source.decoder()
	dec.Format = ingest.Lines
	res, err := g.source.take(&dec, fix)
	if err == nil && len(res.Rejected) > 0 {
		err = fmt.Errorf("%s", res.Rejected[0].Reason)
	}
	return err
}
