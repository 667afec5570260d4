package busd

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/bus"
)

// instant is when the records of these tests are from.
var instant = time.Date(2006, 1, 2, 15, 4, 5, 67000, time.FixedZone("east", 3600))

func record(level slog.Level, text string, attrs ...any) slog.Record {
	r := slog.NewRecord(instant, level, text, 0)
	r.Add(attrs...)
	return r
}

func TestLines(t *testing.T) {
	pid := fmt.Sprintf("[%d] ", os.Getpid())
	const at = "2006/01/02 15:04:05.000067 "
	for _, tc := range []struct {
		log    Log
		colors bool
		with   []any
		record slog.Record
		want   string
	}{
		{Log{}, false, nil, record(slog.LevelInfo, "Server is ready"), pid + at + "[INF] Server is ready"},
		{Log{UTC: true}, false, nil, record(slog.LevelWarn, "w"), pid + "2006/01/02 14:04:05.000067 [WRN] w"},
		{Log{NoTime: true}, false, nil, record(slog.LevelError, "e"), pid + "[ERR] e"},
		{Log{NoTime: true}, false, nil, record(levelFatal, "f"), pid + "[FTL] f"},
		{Log{NoTime: true}, false, nil, record(slog.LevelDebug, "d"), pid + "[DBG] d"},
		{Log{NoTime: true}, false, nil, record(bus.LevelTrace, "t"), pid + "[TRC] t"},
		{Log{NoTime: true}, true, nil, record(slog.LevelInfo, "green"), pid + "[\x1b[32mINF\x1b[0m] green"},
		{Log{NoTime: true}, false, []any{"client", "10.0.0.1:5222", "cid", uint64(7)}, record(slog.LevelError, "Stale Connection"), pid + "[ERR] 10.0.0.1:5222 - cid:7 - Stale Connection"},
		{Log{NoTime: true}, false, []any{"a", 1}, record(slog.LevelInfo, "x", "b", "two words", "c", "", slog.Group("g", "d", time.Second)), pid + `[INF] x a=1 b="two words" c="" g.d=1s`},
		{Log{NoTime: true}, false, nil, record(slog.LevelInfo, "two\r\nlines", "k", "a\nb"), pid + `[INF] two  lines k="a\nb"`},
	} {
		var b bytes.Buffer
		var h slog.Handler = newLineHandler(&b, tc.log, tc.colors)
		for i := 0; i < len(tc.with); i += 2 {
			h = h.WithAttrs([]slog.Attr{slog.Any(tc.with[i].(string), tc.with[i+1])})
		}
		if err := h.Handle(t.Context(), tc.record); err != nil || b.String() != tc.want+"\n" {
			t.Errorf("got  %q, %v\nwant %q", b.String(), err, tc.want)
		}
	}
}

func TestLevels(t *testing.T) {
	h := newLineHandler(new(bytes.Buffer), Log{}, false)
	enabled := func() (list []slog.Level) {
		for _, l := range []slog.Level{bus.LevelTrace, slog.LevelDebug, slog.LevelInfo} {
			if h.Enabled(context.Background(), l) {
				list = append(list, l)
			}
		}
		return list
	}
	for _, tc := range []struct {
		log  Log
		want []slog.Level
	}{
		{Log{}, []slog.Level{slog.LevelInfo}},
		{Log{Debug: true}, []slog.Level{slog.LevelDebug, slog.LevelInfo}},
		{Log{Trace: true}, []slog.Level{bus.LevelTrace, slog.LevelInfo}},
	} {
		if h.out.log = tc.log; !slices.Equal(enabled(), tc.want) {
			t.Errorf("%+v: %v", tc.log, enabled())
		}
	}
}

// A log file is rotated when it has grown, keeps as many old files as it may, and is reopened at
// its path after it was moved.
func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.log")
	f, err := openLogFile(Log{File: path, MaxBytes: 10, MaxFiles: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 6 {
		if _, err := fmt.Fprintf(f, "line number %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	aside := f.aside()
	if len(aside) != 2 {
		t.Fatalf("put aside: %v", aside)
	}
	for i, name := range aside {
		if text, err := os.ReadFile(name); string(text) != fmt.Sprintf("line number %d\n", 4+i) {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new\n"))
	if text, err := os.ReadFile(path); string(text) != "new\n" {
		t.Errorf("after reopening %q, %v", text, err)
	}
}

// A log file whose clock was set back, as local time is in autumn, keeps the newest of the files
// that were put aside.
func TestLogFileWithTheClockSetBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.log")
	ahead := path + "." + time.Now().Add(time.Hour).Format(asideForm)
	if err := os.WriteFile(ahead, []byte("earlier\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openLogFile(Log{File: path, MaxBytes: 10, MaxFiles: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range 3 {
		if _, err := fmt.Fprintf(f, "line number %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range f.aside() {
		if text, err := os.ReadFile(name); string(text) != fmt.Sprintf("line number %d\n", 1+i) {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
}

// A log file that was moved or removed, and not reopened, begins again once it has grown.
func TestLogFileIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.log")
	f, err := openLogFile(Log{File: path, MaxBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := fmt.Fprintf(f, "line number %d\n", i); err != nil {
			t.Error(err)
		}
	}
	aside := f.aside()
	if len(aside) != 1 {
		t.Fatalf("put aside: %v", aside)
	}
	if text, err := os.ReadFile(aside[0]); string(text) != "line number 1\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A pid file that another process has written since is its own: a server that lets its clients go
// may end behind the one that takes its place.
func TestFilesOfOthersStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	for _, by := range []string{"12", "34"} {
		var p Program
		if err := p.place(path, "12"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(by), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.removeFiles(); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(path); (by == "34") != (string(text) == by) {
			t.Errorf("the file of %s: %q, %v", by, text, err)
		}
	}
}

// Every flag of the other program is known, under every name and with one dash or
// two, and stands in the usage text.
func TestFlagsAreAccepted(t *testing.T) {
	const all = `-a h -addr h -net h -p 1 -port 1 -n x -name x -server_name x -P f -pid f -m 1 -http_port 1 -ms 1 -https_port 1
-c f -config f -t -sl stop=1 -signal stop=1 -client_advertise h:1 -ports_file_dir d -l f -log f -T -logtime -logtime_utc -s -syslog
-r udp://h:1 -remote_syslog udp://h:1 -D -debug -V -trace -VV -DV -DVV -log_size_limit 1 -max_traced_msg_len 1 -js -jetstream -sd d
-store_dir d -user u -pass p -auth t -tls -tlscert f -tlskey f -tlsverify -tlscacert f -routes nats://h:1 -cluster nats://h:1
-cluster_listen nats://h:1 -cluster_name c -no_advertise -cluster_advertise h:1 -connect_retries 1 -profile 1 -h -help -v -version -help_tls`
	flag := regexp.MustCompile(`-(\S+)(?: ([^-\s]\S*))?`)
	for _, m := range flag.FindAllStringSubmatch(all, -1) {
		for _, args := range [][]string{{"-" + m[1], m[2]}, {"--" + m[1], m[2]}, {"-" + m[1] + "=" + m[2]}} {
			if m[2] == "" {
				args = []string{strings.TrimSuffix(args[0], "=")}
			}
			var out bytes.Buffer
			if c, err := parseFlags(args, &out); err != nil || len(c.words) > 0 {
				t.Errorf("%q: %v, %s", args, err, out.String())
			}
		}
		if !regexp.MustCompile(`-` + m[1] + `\b`).MatchString(usage) {
			t.Errorf("-%s is not in the usage text", m[1])
		}
	}
}
