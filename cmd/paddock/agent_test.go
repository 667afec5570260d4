package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/agent"
)

// agentSite is a platform and an agent, as processes, that may be killed and started
// again where they were.
type agentSite struct {
	t         *testing.T
	ctx       context.Context
	dir, wire string
	platform  *upProcess
	agent     *killable
	edge      string // URL
	given     int    // positions
}

// startPlatform starts a platform that knows nothing.
func (s *agentSite) startPlatform() {
	s.t.Helper()
	s.platform = startUp(s.t, "up", "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", s.wire)
	s.wire = s.platform.wire
}

func (s *agentSite) killPlatform() {
	s.t.Helper()
	if err := s.platform.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.platform.Wait() // it was killed
}

func (s *agentSite) startAgent() {
	s.t.Helper()
	s.agent = startKillable(s.ctx, s.t, "agent", "-c", filepath.Join(s.dir, "agent.yaml"))
	s.edge = strings.TrimSuffix(s.line(s.agent, "http: "), "/")
}

// line is the first one of a process, behind its beginning.
func (s *agentSite) line(p *killable, beginning string) string {
	s.t.Helper()
	select {
	case line := <-p.first:
		rest, ok := strings.CutPrefix(line, beginning)
		if !ok {
			s.t.Fatalf("the first line is %q", line)
		}
		return strings.TrimSpace(rest)
	case <-p.ended:
		s.t.Fatalf("ended: %v\n%s", p.err, p.log.String())
	case <-s.ctx.Done():
		s.t.Fatal(s.ctx.Err())
	}
	return ""
}

// do asks one of the two over HTTP.
func (s *agentSite) do(method, url, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			return resp.StatusCode, text.String()
		}
	}
}

// give has the agent accept n positions.
func (s *agentSite) give(n int) {
	s.t.Helper()
	var body strings.Builder
	for range n {
		fmt.Fprintf(&body, `{"id":"v%d","lon":1,"lat":2,"t":%d}`+"\n", s.given%3, 1_700_000_000_000+s.given)
		s.given++
	}
	if status, answer := s.do("POST", s.edge+"/v1/positions", body.String()); status != http.StatusAccepted {
		s.t.Fatalf("%d %s", status, answer)
	}
}

// delivered waits until nothing waits, and checks that the platform has applied so many
// since it was started, and none twice.
func (s *agentSite) delivered(n int) {
	s.t.Helper()
	until(s.ctx, s.t, "delivery", func() error {
		_, text := s.do("GET", s.edge+"/status", "")
		var status agent.Status
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			return err
		}
		if status.Buffer.Waiting > 0 {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	_, text := s.do("GET", s.platform.url+"metrics", "")
	for _, want := range []string{
		fmt.Sprintf("paddock_track_updates_total{result=\"accepted\"} %d\n", n),
		"paddock_track_updates_total{result=\"late\"} 0\n", "paddock_track_updates_total{result=\"rejected\"} 0\n",
	} {
		if !strings.Contains(text, want) {
			i := strings.Index(text, "paddock_track_updates_total{")
			s.t.Fatalf("want %s, there is\n%s", want, text[i:i+400])
		}
	}
}

// kill -9 of the agent, of the platform, and of both, at any moment: each position that
// the agent has accepted is applied, once, in its order.
func TestAgentAndPlatformAreKilled(t *testing.T) {
	t.Parallel()
	s := &agentSite{t: t, ctx: t.Context(), dir: t.TempDir(), wire: "127.0.0.1:0"}
	s.startPlatform()
	text := fmt.Sprintf("connect: {server: %q, plaintext: true}\nbuffer: {dir: buffer}\nhttp: {listen: \"127.0.0.1:0\"}\nbackoff: {interval: 5ms, max_interval: 50ms}\n", s.wire)
	if err := os.WriteFile(filepath.Join(s.dir, "agent.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.startAgent()
	for range 4 { // the agent, between accepting positions and recording their delivery
		s.give(300)
		s.agent.kill()
		s.startAgent()
	}
	s.give(300)
	s.delivered(s.given)

	s.killPlatform()
	before := s.given
	s.give(500)
	s.agent.kill()
	s.startAgent()
	s.give(500)
	s.startPlatform()
	s.give(100)
	s.delivered(s.given - before)
}
