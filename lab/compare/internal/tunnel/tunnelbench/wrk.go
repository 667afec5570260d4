package tunnelbench

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strconv"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/peers"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/internal/sitecorpus"
)

//go:embed corpus.lua
var corpusScript []byte

// wrk runs it against a stand, after a warm-up, and counts the processor time of the stand's
// processes. path "" is the corpus.
func (b *Bench) wrk(ctx context.Context, s *stand, path string, conns int, o measure.Options) (*measure.Measurement, error) {
	script, err := peers.WriteWrkScript(b.Dir)
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
