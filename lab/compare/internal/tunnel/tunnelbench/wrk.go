package tunnelbench

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/internal/sitecorpus"
)

//go:embed corpus.lua
var corpusScript []byte

// wrk runs it against a stand, after a warm-up, and counts the processor time of the stand's
// processes. path "" is the corpus.
func (b *Bench) wrk(ctx context.Context, s *stand, path string, conns int, o measure.Options) (*measure.Measurement, error) {
	script, err := webload.WriteScript(b.Dir)
	if err != nil {
		return nil, err
	}
	var tail []string
	if path == "" {
		path, script = "/0", filepath.Join(b.Dir, "corpus.lua")
		tail = []string{"--", strconv.Itoa(sitecorpus.Files)}
		if err := os.WriteFile(script, corpusScript, 0o600); err != nil {
			return nil, err
		}
	}
	args := append([]string{"-H", "Host: " + tunneled.Host, "http://" + s.front + path}, tail...)
	w := webload.Wrk{Program: b.Wrk, Load: s.pids, Conns: conns, Script: script, Args: args}
	return w.Measure(ctx, o)
}

// readyWithin is how long a tunnel may take until it brings an answer.
const readyWithin = 15 * time.Second

// answers returns when the server at an address has answered.
func answers(ctx context.Context, front string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+front+"/", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err == nil {
			return answer.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer through the tunnel: %w", err)
		case <-ticks.C:
		}
	}
}
