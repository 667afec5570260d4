package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestClientScripts runs each scenario of testdata/client as the client of a platform of its own,
// which is the current context.
func TestClientScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/client/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	path := plainFirst(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			p := upKeeping(t, t.TempDir())
			testscript.Run(t, testscript.Params{
				Files:               []string{file},
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Cmds:                map[string]func(*testscript.TestScript, bool, []string){"refuse": refuse, "code": exitCode},
				Setup: func(e *testscript.Env) error {
					e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/.config")
					e.Setenv("PATH", path)
					e.Setenv("PLATFORM", strings.TrimSuffix(p.url, "/"))
					return nil
				},
			})
		})
	}
}

// exitCode is the script command that runs the program, and fails the script if its exit code is
// not the first argument.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N paddock ARGUMENT...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// tailing is a running `paddock events tail`.
type tailing struct {
	*exec.Cmd
	out *bufio.Reader
	log logText
}

func tail(t *testing.T, p *upProcess, args ...string) *tailing {
	t.Helper()
	k := &tailing{Cmd: program(t, append([]string{"events", "tail", "--server", p.url}, args...)...)}
	k.Stderr = &k.log
	out, err := k.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, k.Cmd)
	k.out = bufio.NewReader(out)
	return k
}

// has waits for a line that contains each of the words.
func (k *tailing) has(t *testing.T, words ...string) {
	t.Helper()
	line, err := k.out.ReadString('\n')
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Fatalf("%q, %v: no %q; the log:\n%s", line, err, word, &k.log)
		}
	}
}

// end sends SIGINT, and checks that the end is a good one.
func (k *tailing) end(t *testing.T) {
	t.Helper()
	if err := k.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if rest, err := k.out.ReadString('\n'); rest != "" {
		t.Errorf("more output: %q, %v", rest, err)
	}
	if err := k.Wait(); err != nil {
		t.Errorf("%v; the log:\n%s", err, &k.log)
	}
	if !strings.Contains(k.log.String(), "go on with --from-cursor ") {
		t.Errorf("no cursor in %q", &k.log)
	}
}

// A tail prints what it is asked for, goes on behind its last event when the platform was away, and
// misses no event.
func TestEventsTail(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := upKeeping(t, data)
	p.dock(t)
	at := time.Now().Add(-time.Hour).UnixMilli()
	move := func(id string, lon float64) {
		t.Helper()
		at += 1000
		p.request(t, http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":%q,"lon":%v,"lat":0.5,"t":%d}`, id, lon, at))
	}
	move("a", 0.5)
	all, exits := tail(t, p, "--last", "1", "--json"), tail(t, p, "--since", "1h", "--event", "exit", "--set", "docks")
	all.has(t, `"type":"paddock.fence.enter"`, `"id":"a/1"`)
	move("a", 1.5)
	all.has(t, `"type":"paddock.fence.exit"`)
	exits.has(t, " exit docks/dock default/a after ")
	address := strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/")
	p.terminate(t)
	p = upKeeping(t, data, "--listen", address)
	for range 3 {
		move("b", 0.5)
		move("b", 1.5)
	}
	for range 3 {
		all.has(t, `"type":"paddock.fence.enter"`, `"object":{"id":"b"`)
		all.has(t, `"type":"paddock.fence.exit"`)
		exits.has(t, " exit docks/dock default/b")
	}
	for _, k := range []*tailing{all, exits} {
		if log := k.log.String(); !strings.Contains(log, "the connection is lost: ") || strings.Contains(log, "gap") {
			t.Error(log)
		}
		k.end(t)
	}
}

// A tail tells of a gap when the platform has forgotten the events behind its cursor.
func TestEventsTailGap(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, "off")
	p.dock(t)
	enter := func(id string) {
		t.Helper()
		p.request(t, http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":%q,"lon":0.5,"lat":0.5}`, id))
	}
	enter("a")
	all, lines := tail(t, p, "--last", "1"), tail(t, p, "--last", "1", "--json")
	all.has(t, " enter docks/dock default/a")
	lines.has(t, `"type":"paddock.fence.enter"`)
	address := strings.TrimSuffix(strings.TrimPrefix(p.url, "http://"), "/")
	p.terminate(t)
	p = upKeeping(t, "off", "--listen", address)
	lines.has(t, `"type":"paddock.gap"`, `"reason":"they are no longer kept"`)
	p.dock(t)
	enter("b")
	lines.has(t, `"type":"paddock.fence.enter"`)
	all.has(t, " enter docks/dock default/b")
	all.end(t) // the whole log is here
	if log := all.log.String(); !strings.Contains(log, "gap: an unknown number of events is missing: they are no longer kept") {
		t.Error(log)
	}
	lines.end(t)
}

// A tail that cannot reach a platform at first, or is refused, ends with an error.
func TestEventsTailRefused(t *testing.T) {
	t.Parallel()
	p := upKeeping(t, t.TempDir())
	checkEndings(t, "events tail", "", []ending{
		{"nothing there", "--server http://127.0.0.1:1", exitFailure, "is the platform running there?"},
		{"unknown kind", "--event none --server " + p.url, exitFailure, "400 Bad Request: query: event"},
		{"a bad key", "--token pdk_wrong --server " + p.url, exitFailure, "401 Unauthorized"},
		{"whose key", "--token pdk_wrong --server " + p.url, exitFailure, "is that of --token"},
	})
}

// TestCommandLineGuide runs the commands of the guide in their order, as the client of a platform.
func TestCommandLineGuide(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	page, err := os.ReadFile("../../docs/guides/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	p := upKeeping(t, t.TempDir())
	g := newGuide(t)
	g.write("depots.geojson", upSquare, 0o600)
	g.write("rules.yaml", "rules:\n  - {id: long-stay, set: depots, detect: [dwell], dwell: {after: 30m}}\n", 0o600)
	g.write(".keys/fences", "pdk_secret\n", 0o600)
	p.request(t, http.MethodPost, "v1/positions", `[{"id":"v41","lon":13.4,"lat":52.5},{"id":"v42","lon":13.41,"lat":52.52}]`)
	run := func(line string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = g.dir
		cmd.Env = append(os.Environ(), "HOME="+g.dir, "XDG_CONFIG_HOME="+g.dir+"/.config", "PADDOCK_CONTEXT=here", "PATH="+plainFirst(t))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		g.ran++
	}
	run("PADDOCK_CONTEXT= paddock context add here --url " + p.url)
	for _, m := range guideBlock.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(m[3]) {
			run(strings.TrimSpace(line))
		}
	}
	if g.ran < 20 {
		t.Errorf("%d commands", g.ran)
	}
}
