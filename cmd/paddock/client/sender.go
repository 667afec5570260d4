package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/cmd/paddock/client/recording"
	"paddock/cmd/paddock/output"
	"paddock/internal/platform/position"
	"paddock/internal/process/lifecycle"
)

// Bounds of a request of positions.
const (
	batchPositions = 1000
	batchBytes     = 1 << 20
	// maxRefusing is how long the same positions are sent again, and maxAskedWait the longest wait
	// that an answer may ask for.
	maxRefusing  = 5 * time.Minute
	maxAskedWait = time.Minute
	// againLater ends the reason of a position that was not applied for now, such as in a drain.
	againLater = "send it again later"
)

// sent counts what became of positions.
type sent struct {
	Sent     int `json:"sent"`
	Accepted int `json:"accepted"`
	Late     int `json:"late"`
	Outliers int `json:"outliers"`
	Rejected int `json:"rejected"`
}

// rejection is a position that was not accepted.
type rejection struct {
	Place  string `json:"place"`
	Reason string `json:"reason"`
}

// sender sends positions in batches. It belongs to one goroutine.
type sender struct {
	remote *remote
	fleet  string
	shown  *output.Progress
	stderr io.Writer
	keep   int // rejections that are listed

	body       bytes.Buffer
	places     []recording.Place // of the positions of the body, a line each
	count      sent
	rejections []rejection
	reached    bool // the platform, at least once
}

// reject notes a position that cannot be accepted.
func (s *sender) reject(place, reason string) {
	s.count.Rejected++
	if len(s.rejections) < s.keep {
		s.rejections = append(s.rejections, rejection{place, reason})
	}
}

// show shows the counts, and the recorded time that is next.
func (s *sender) show(at int64) {
	s.shown.Show("sent %d: %d accepted, %d late, %d rejected; next %s",
		s.count.Sent, s.count.Accepted, s.count.Late, s.count.Rejected, time.UnixMilli(at).UTC().Format(time.RFC3339))
}

// add adds a position to the batch, and sends it when it is full.
func (s *sender) add(ctx context.Context, f *recording.Fix) error {
	before := s.body.Len()
	if err := writePosition(&s.body, &f.Position); err != nil {
		s.body.Truncate(before)
		s.reject(f.Place.String(), err.Error())
		return nil
	}
	s.places = append(s.places, f.Place)
	if len(s.places) < batchPositions && s.body.Len() < batchBytes {
		return nil
	}
	s.show(f.Time)
	return s.flush(ctx)
}

// writePosition writes a position as JSON on one line.
func writePosition(w io.Writer, p *position.Position) error {
	type measure = *float32
	known := func(m position.Measure) measure {
		if !m.Known {
			return nil
		}
		return &m.Value
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(struct {
		ID       string          `json:"id"`
		Fleet    string          `json:"fleet,omitempty"`
		T        int64           `json:"t"`
		Lon      float64         `json:"lon"`
		Lat      float64         `json:"lat"`
		Accuracy measure         `json:"accuracy,omitempty"`
		Speed    measure         `json:"speed,omitempty"`
		Heading  measure         `json:"heading,omitempty"`
		Altitude measure         `json:"altitude,omitempty"`
		Props    json.RawMessage `json:"props,omitempty"`
	}{
		p.ID, p.Fleet, p.Time, p.Lon, p.Lat,
		known(p.Accuracy), known(p.Speed), known(p.Heading), known(p.Altitude), p.Props,
	})
}

// flush sends the batch until it is answered.
func (s *sender) flush(ctx context.Context) error {
	if len(s.places) == 0 {
		return nil
	}
	var refusing time.Time // since then
	for pause := firstPause / 4; ; pause = min(2*pause, maxPause) {
		asked, err := s.post(ctx)
		if err == nil {
			break
		}
		if _, later := errors.AsType[retryError](err); !later || ctx.Err() != nil {
			return err
		}
		switch {
		case refusing.IsZero():
			refusing = time.Now()
		case time.Since(refusing) > maxRefusing:
			return fmt.Errorf("given up after %v: %w", maxRefusing, err)
		}
		wait := max(asked, pause)
		s.shown.Show("%v: again in %v", err, wait)
		if err := lifecycle.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	s.body.Reset()
	s.places = s.places[:0]
	return nil
}

// retryError is a failure that may be none with the next try.
type retryError struct{ error }

func (e retryError) Unwrap() error { return e.error }

// post sends the batch once. With a retryError it returns the wait that the answer asks for, or 0.
func (s *sender) post(ctx context.Context) (asked time.Duration, err error) {
	t, err := s.remote.resolve()
	if err != nil {
		return 0, err
	}
	path := withQuery(pathOf("positions"), url.Values{"fleet": {s.fleet}})
	res, err := t.send(ctx, http.MethodPost, path, http.Header{"Content-Type": {"application/x-ndjson"}}, bytes.NewReader(s.body.Bytes()))
	if err != nil {
		if s.reached && ctx.Err() == nil {
			err = retryError{err}
		}
		return 0, err
	}
	defer res.Body.Close()
	s.reached = true
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 without a number
		return min(time.Duration(max(0, seconds))*time.Second, maxAskedWait), retryError{t.refusal(res)}
	case http.StatusOK:
		return 0, s.take(res.Body)
	case http.StatusBadRequest: // all of them are invalid, or the request is
		text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
		if err != nil {
			return 0, err
		}
		err = s.take(bytes.NewReader(text))
		if _, again := errors.AsType[retryError](err); err == nil || again {
			return 0, err
		}
		res.Body = io.NopCloser(bytes.NewReader(text))
	}
	return 0, t.refusal(res)
}

// take counts an answer. With a retryError the batch has the positions that are to be sent again.
func (s *sender) take(answer io.Reader) error {
	var r struct {
		Accepted *int
		Late     int
		Outliers int
		Omitted  int
		Rejected []struct {
			Index  int
			Reason string
		}
	}
	if err := json.NewDecoder(io.LimitReader(answer, maxReply)).Decode(&r); err != nil {
		return fmt.Errorf("the answer of %s: %w", s.remote.found.url, err)
	}
	if r.Accepted == nil {
		return fmt.Errorf("the answer of %s: no accepted", s.remote.found.url)
	}
	s.count.Sent += len(s.places)
	s.count.Accepted += *r.Accepted
	s.count.Late += r.Late
	s.count.Outliers += r.Outliers
	s.count.Rejected += r.Omitted
	var again []int
	for _, one := range r.Rejected {
		switch known := one.Index >= 0 && one.Index < len(s.places); {
		case !known:
			s.reject("-", one.Reason)
		case strings.HasSuffix(one.Reason, againLater):
			again = append(again, one.Index)
		default:
			s.reject(s.places[one.Index].String(), one.Reason)
		}
	}
	if len(again) == 0 {
		return nil
	}
	s.keepOnly(again)
	return retryError{fmt.Errorf("%d positions were not applied", len(again))}
}

// keepOnly leaves these positions in the batch, in their order.
func (s *sender) keepOnly(indexes []int) {
	slices.Sort(indexes)
	s.count.Sent -= len(indexes)
	lines := bytes.SplitAfter(bytes.Clone(s.body.Bytes()), []byte("\n"))
	s.body.Reset()
	for i, at := range indexes {
		s.body.Write(lines[at])
		s.places[i] = s.places[at]
	}
	s.places = s.places[:len(indexes)]
}

// summary prints what became of the positions.
func (s *sender) summary(c *Console, asJSON bool) error {
	if asJSON {
		return c.printJSON(struct {
			sent
			Rejections []rejection `json:"rejections"`
		}{s.count, append([]rejection{}, s.rejections...)})
	}
	for _, r := range s.rejections {
		fmt.Fprintf(s.stderr, "%s: %s\n", plain(r.Place), plain(r.Reason))
	}
	if more := s.count.Rejected - len(s.rejections); more > 0 {
		fmt.Fprintf(s.stderr, "and %d more\n", more)
	}
	_, err := fmt.Fprintf(c.Stdout, "%d positions sent: %d accepted, %d late, %d outliers; %d rejected\n",
		s.count.Sent, s.count.Accepted, s.count.Late, s.count.Outliers, s.count.Rejected)
	return err
}
