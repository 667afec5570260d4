package cli

import (
	"context"
	"io"
	"net/http"
	"time"

	"paddock/lab/internal/scenario"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/load/histogram"
)

const (
	// askEvery is the interval of the requests beside a load.
	askEvery = 50 * time.Millisecond
	// askWithin is their timeout.
	askWithin = 10 * time.Second
	// quietHost is the name of the other tunnel, and quietBody the length of its answers in bytes.
	quietHost = "quiet.example"
	quietBody = 100
)

// asker sends requests to the front beside a load, over a connection of its own.
type asker struct {
	front, host string
	each        func(status int, hinted bool, took time.Duration) // status 0: no answer
}

// run asks now and then until ctx ends.
func (a *asker) run(ctx context.Context) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: askWithin}
	ticks := time.NewTicker(askEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		began := time.Now()
		status, hinted := a.ask(ctx, &client)
		if ctx.Err() == nil {
			a.each(status, hinted, time.Since(began))
		}
	}
}

func (a *asker) ask(ctx context.Context, client *http.Client) (status int, hinted bool) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.front+"/", nil)
	if err != nil {
		return 0, false
	}
	r.Host = a.host
	answer, err := client.Do(r)
	if err != nil {
		return 0, false
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0, false
	}
	return answer.StatusCode, answer.Header.Get("Retry-After") != ""
}

// hints looks at refusals more closely than a load generator does, until ctx ends.
func hints(ctx context.Context, front string, o *scenario.Overload) {
	a := asker{front: front, host: tunneled.Host, each: func(status int, hinted bool, _ time.Duration) {
		switch {
		case status != http.StatusServiceUnavailable:
		case hinted:
			o.Hinted++
		default:
			o.Unhinted++
		}
	}}
	a.run(ctx)
}

// quiet asks the other tunnel until ctx ends.
func quiet(ctx context.Context, front string, to *scenario.Beside) {
	times := histogram.New()
	a := asker{front: front, host: quietHost, each: func(status int, _ bool, took time.Duration) {
		to.Asked++
		if status != http.StatusOK {
			to.Failed++
		}
		times.Record(int64(took))
	}}
	a.run(ctx)
	to.P99 = times.Quantile(0.99)
}
