package busdiff

import (
	"bytes"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The flags of the tests; `make diff-bus` sets them.
var (
	options Options
	replay  string
)

func init() {
	flag.Uint64Var(&options.Scripts, "scripts", 400, "how many scripts to play")
	flag.Uint64Var(&options.Seed, "seed", 20, "which scripts: a seed gives the same ones for ever")
	flag.Uint64Var(&options.First, "first", 0, "number of the first script")
	flag.IntVar(&options.Workers, "workers", 0, "how many are played at once; 0 = 4")
	flag.IntVar(&options.MaxFound, "max-found", 0, "stop after so many differences; 0 = 10")
	flag.DurationVar(&options.Progress, "progress", 0, "how often to print the progress; 0 = never")
	flag.StringVar(&replay, "replay", "", "play the scripts of this file instead")
}

// TestRandomScripts plays some hundred scripts, the same ones each time, and fails at a difference
// without an explanation. An interrupt ends it with the result so far.
func TestRandomScripts(t *testing.T) {
	if replay != "" {
		replayFile(t, replay)
		return
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	result, err := Run(ctx, options, t.Output())
	t.Log(result)
	if err != nil {
		t.Fatal(err)
	}
	if result.Played != options.Scripts || result.Same < options.Scripts*3/4 {
		t.Errorf("of %d scripts %d were played, and %d had the same answers", options.Scripts, result.Played, result.Same)
	}
}

func replayFile(t *testing.T, name string) {
	text, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if err := Replay(text, t.Output()); err != nil {
		t.Error(err)
	}
}

// TestRegressions plays the scripts of testdata, each of which once showed a difference, or shows a
// known one.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			replayFile(t, file)
		})
	}
}

// A rig that cannot find a difference would find none.
func TestDifferencesAreFound(t *testing.T) {
	settings := Settings()
	rig, err := newRig(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer rig.stop()
	open, small := rig.pairs["open"], rig.pairs["small"]
	open.ours, small.ours = small.ours, open.ours // other limits than the reference's
	s := Script{Setting: "small", Steps: []Step{
		{Data: []byte("CONNECT {\"verbose\":false}\r\nSUB a 1\r\n")},
		{},
		{Data: []byte("PUB a 25\r\n" + strings.Repeat("x", 25) + "\r\n")},
	}}
	rig.hasty = true
	v, err := rig.check(&s)
	if err != nil || v.kind != differs {
		t.Fatalf("%v, %v", v, err)
	}
	again, err := minimised(rig, s)
	if err != nil || len(again.Steps) != 1 {
		t.Errorf("%v, %v", &again, err)
	}
}

// minimised is s as the report would show it.
func minimised(rig *rig, s Script) (Script, error) {
	var failed error
	small := minimise(s, func(candidate *Script) bool {
		v, err := rig.check(candidate)
		if err != nil {
			failed = err
		}
		return err == nil && v.kind == differs
	})
	return small, failed
}

func TestScriptsAsText(t *testing.T) {
	settings := Settings()
	var all []Script
	var text bytes.Buffer
	for n := range uint64(50) {
		s := Generate(3, n, settings)
		if again := Generate(3, n, settings); !reflect.DeepEqual(s, again) {
			t.Fatalf("script %d is not the same each time", n)
		}
		all = append(all, s)
		if _, err := s.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
	}
	read, err := ParseScripts(&text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, all) {
		t.Error("scripts are not what was written")
	}
}

func TestCutsKeepTheBytes(t *testing.T) {
	settings := Settings()
	for n := range uint64(50) {
		s := Generate(4, n, settings)
		for i, cut := range s.otherCuts(false) {
			for conn := range maxConns {
				if !bytes.Equal(cut.sent(conn), s.sent(conn)) {
					t.Fatalf("script %d, cut %d: connection %d sends something else", n, i, conn)
				}
			}
		}
	}
}

func TestExplainedIsComplete(t *testing.T) {
	all, err := readExplained(explainedText)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"why: x\n", "== a\nwhy: x\n", "== a\nrewrite: x\n", "== a\nwhy: x\nscript: (\n", "== a\nother: x\n"} {
		if _, err := readExplained(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	names := make(map[string]bool)
	for i := range all {
		if names[all[i].name] {
			t.Errorf("%q stands there twice", all[i].name)
		}
		names[all[i].name] = true
	}
}

func TestNormalise(t *testing.T) {
	for name, tc := range map[string]struct{ one, other string }{
		"copies for several subscriptions in any order": {
			"MSG a 1 1\r\nx\r\nMSG a 2 1\r\nx\r\nPONG\r\n", "MSG a 2 1\r\nx\r\nMSG a 1 1\r\nx\r\nPONG\r\n",
		},
		"members of a queue": {"MSG a Qq.1 1\r\nx\r\n", "MSG a Qq.2 1\r\nx\r\n"},
		"a member without headers": {
			"HMSG a Qq.1 r 2 3\r\n\r\nx\r\n", "MSG a Qq.2 r 1\r\nx\r\n",
		},
		"who the server is": {`INFO {"server_id":"A","proto":1} ` + crlf, `INFO {"proto":1,"server_id":"B"} ` + crlf},
	} {
		if d := compare(answered(tc.one), answered(tc.other)); d != nil {
			t.Errorf("%s: %v", name, d)
		}
	}
	for name, tc := range map[string]struct{ one, other string }{
		"order of messages":   {"MSG a 1 1\r\nx\r\nMSG a 1 1\r\ny\r\n", "MSG a 1 1\r\ny\r\nMSG a 1 1\r\nx\r\n"},
		"message and answer":  {"+OK\r\nMSG a 1 1\r\nx\r\n", "MSG a 1 1\r\nx\r\n+OK\r\n"},
		"one copy more":       {"MSG a Qq.1 1\r\nx\r\n", "MSG a Qq.1 1\r\nx\r\nMSG a Qq.2 1\r\nx\r\n"},
		"an end in a message": {"MSG a 1 1\r\nx\r\n", "MSG a 1 1\r\nx"},
		"a field of INFO":     {`INFO {"proto":1} ` + crlf, `INFO {"proto":2} ` + crlf},
		"INFO's last blank":   {`INFO {"proto":1} ` + crlf, `INFO {"proto":1}` + crlf},
	} {
		if compare(answered(tc.one), answered(tc.other)) == nil {
			t.Errorf("%s makes no difference", name)
		}
	}
}

func answered(text string) *answer {
	a := &answer{conns: make([][]frame, 1)}
	a.normalise([]*link{{got: []byte(text)}})
	return a
}
