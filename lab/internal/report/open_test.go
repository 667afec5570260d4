package report

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// echo is a run against an echo server that closes every other connection, with its files in dir.
func echo(t *testing.T, dir string, arrivals load.Arrivals, conns int) *Run {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if n%2 == 0 {
					_, _ = io.CopyN(c, c, 80)
				} else {
					_, _ = io.Copy(c, c)
				}
			}()
		}
	}()
	defer func() {
		l.Close()
		<-done
	}()
	plan := load.Plan{
		Address: l.Addr().String(), Codec: &load.Raw{Request: make([]byte, 8), Answer: 8}, Conns: conns, Arrivals: arrivals,
		Warmup: 200 * time.Millisecond, Duration: 1300 * time.Millisecond,
	}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	files, err := runfile.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	series, recorder := &Series{}, runfile.NewRecorder(plan, files)
	result, err := load.Run(t.Context(), plan, load.Observers{series, recorder})
	if err != nil {
		t.Fatal(err)
	}
	list, err := slo.Parse("p99<1m,err<0.1%")
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{
		Title: "raw " + hostile, Plan: &plan, Result: result, Series: series,
		Outcomes: slo.Check(list, result), Directory: files,
		Document: recorder.Document(runfile.ReadManifest([]string{"paddock", "bench"}, result.Began), result),
	}
	r.Document.Title, r.Document.Load, r.Document.Facts = r.Title, "some load", []runfile.Fact{{Name: "messages", Text: "12"}}
	r.Document.Objectives = runfile.ObjectivesOf(r.Outcomes)
	if err := r.WriteFiles(dir); err != nil {
		t.Fatal(err)
	}
	return r
}

// The files of a run give the same page and the same text as the run itself.
func TestOpen(t *testing.T) {
	for name, arrivals := range map[string]load.Arrivals{"open": load.Constant{PerSecond: 500}, "closed": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			made := echo(t, dir, arrivals, 3)
			read, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range []struct {
				name  string
				write func(*Run, io.Writer) error
			}{{"page", (*Run).WriteHTML}, {"text", (*Run).WriteText}} {
				var want, got bytes.Buffer
				if err := of.write(made, &want); err != nil {
					t.Fatal(err)
				}
				if err := of.write(read, &got); err != nil {
					t.Fatal(err)
				}
				wants, gots := strings.Split(want.String(), "\n"), strings.Split(got.String(), "\n")
				for i := range min(len(wants), len(gots)) {
					if wants[i] != gots[i] {
						t.Errorf("%s: line %d is\n%.2000s\nwhere the run had\n%.2000s", of.name, i+1, gots[i], wants[i])
					}
				}
				if len(wants) != len(gots) {
					t.Errorf("%s: %d lines, and %d", of.name, len(gots), len(wants))
				}
			}
		})
	}
}

// Without the files of its seconds a run has its tables still. A damaged file is named, with the
// line.
func TestOpenDamaged(t *testing.T) {
	dir := t.TempDir()
	echo(t, dir, nil, 2)
	seconds := filepath.Join(dir, runfile.SecondsFile)
	text, err := os.ReadFile(seconds)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(seconds, append([]byte("{}}\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "seconds.ndjson: line 1") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(seconds); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(&page); err != nil || !strings.Contains(page.String(), `"name":"response","points":[[0,`) {
		t.Errorf("%v: %s", err, page.String())
	}
	document := filepath.Join(dir, runfile.RunFile)
	if text, err = os.ReadFile(document); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, bytes.Replace(text, []byte("p99"), []byte("q99"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "objective \"q99") {
		t.Errorf("%v", err)
	}
}
