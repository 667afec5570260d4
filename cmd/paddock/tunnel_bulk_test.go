//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fewMiB go each way where PADDOCK_TUNNEL_MIB says nothing.
const fewMiB = 64

// resident returns the resident memory of a process, in bytes, without the pages of its program.
func resident(t *testing.T, p *tunnelProcess) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kib, err := strconv.ParseInt(strings.Fields(rest + " x")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// zeros is a body of a length.
type zeros struct{ left int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	z.left -= n
	return int(n), nil
}

// However much goes up and down, neither process takes more memory for it.
// PADDOCK_TUNNEL_MIB=10240 is 10 GiB each way.
func TestTunnelMemoryIsFlat(t *testing.T) {
	t.Parallel()
	mib, most := int64(fewMiB), int64(56<<20)
	if text := os.Getenv("PADDOCK_TUNNEL_MIB"); text != "" {
		var err error
		if mib, err = strconv.ParseInt(text, 10, 32); err != nil {
			t.Fatal(err)
		}
		most = 64 << 20 // windows have had the time to grow
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*killTime+time.Duration(mib)*time.Second/2)
	defer cancel()
	s := newStanding(ctx, t)
	s.http.Timeout = 0
	s.target.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil && r.Method == http.MethodGet {
			n, _ = strconv.ParseInt(r.URL.RawQuery, 10, 64)
			_, _ = io.Copy(w, &zeros{n})
			return
		}
		fmt.Fprint(w, n)
	})
	s.serve(0)
	s.client = s.connect(s.link)
	move := func(n int64) {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			r, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://%s/?%d", s.front, n), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Host = "app.example"; method == http.MethodPost {
				r.Body, r.ContentLength = io.NopCloser(&zeros{n}), n
			}
			res, err := s.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			b := new(strings.Builder)
			got, err := io.Copy(io.MultiWriter(io.Discard, &begin{b}), res.Body)
			_ = res.Body.Close()
			if err != nil || method == http.MethodGet && got != n || method == http.MethodPost && b.String() != strconv.FormatInt(n, 10) {
				t.Fatalf("%s of %d bytes: %s, %d bytes back, %v", method, n, res.Status, got, err)
			}
		}
	}
	move(4 << 20)
	server, client := resident(t, s.server), resident(t, s.client)
	move(mib << 20)
	for name, grown := range map[string]int64{"server": resident(t, s.server) - server, "client": resident(t, s.client) - client} {
		t.Logf("%d MiB each way: the %s holds %d KiB more", mib, name, grown>>10)
		if grown > most {
			t.Errorf("the %s has grown by %d MiB", name, grown>>20)
		}
	}
}

// begin keeps the first bytes.
type begin struct{ *strings.Builder }

func (b *begin) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), 32-min(b.Len(), 32))])
	return len(p), nil
}
