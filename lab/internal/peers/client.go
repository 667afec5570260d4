package peers

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"paddock/lab/perf"
	"paddock/lab/process"
)

// maxOutput bounds the output of a client, in bytes. More of it is an error.
const maxOutput = 1 << 20

// bounded keeps the beginning of an output, and counts all of it.
type bounded struct {
	begin []byte
	all   int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.all += int64(len(p))
	b.begin = append(b.begin, p[:min(len(p), maxOutput-len(b.begin))]...)
	return len(p), nil
}

// run runs a client to its end, and returns what it printed on its standard output, and the time of
// its process. An interrupted context kills it.
func run(ctx context.Context, name, program string, args []string) (*text, time.Duration, error) {
	var out, said bounded
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = process.Environment(), &out, &said, stopWithin
	began := time.Now()
	wait, err := process.Start(cmd, process.Options{})
	if err != nil {
		return nil, 0, err
	}
	err = wait()
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
		return nil, 0, fmt.Errorf("%s: %w", name, ctx.Err())
	case err != nil:
		return nil, 0, fmt.Errorf("%s: %w: %s%s", name, err, clip(out.begin), clip(said.begin))
	case out.all > maxOutput:
		return nil, 0, fmt.Errorf("%s has printed %d bytes, of at most %d", name, out.all, maxOutput)
	}
	return newText(name, string(out.begin)), took, nil
}

// clip returns the end of an output, for errors.
func clip(output []byte) []byte { return output[max(0, len(output)-500):] }

// RunAb runs ab: requests in all, over conns connections at a time, each for one request unless
// they are kept alive.
func RunAb(ctx context.Context, program, url string, requests, conns int, keepAlive bool) (*Figures, error) {
	args := []string{"-q", "-n", strconv.Itoa(requests), "-c", strconv.Itoa(conns)}
	if keepAlive {
		args = append(args, "-k")
	}
	t, _, err := run(ctx, Ab, program, append(args, url))
	if err != nil {
		return nil, err
	}
	return ReadAb(t.all)
}

// ReadAb reads the text of ab. Its times are whole milliseconds, but for the mean latency: that is
// the time of the run by the requests of a connection, and not measured.
func ReadAb(stdout string) (*Figures, error) {
	t, f := newText(Ab, stdout), Figures{}
	var ms, low, median int64
	t.need("Time taken for tests:", "%v", times(&f.Elapsed, time.Second))
	t.need("Complete requests:", "%d", &f.Requests)
	t.need("Failed requests:", "%d", &f.Failed)
	t.look("Non-2xx responses:", "%d", &f.NonSuccess)
	t.need("Total transferred:", "%d", &f.Bytes)
	t.need("Requests per second:", "%v", &f.PerSecond)
	t.need("Time per request:", "%v", milliseconds(&f.Latency.Mean))
	t.look("Total:", "%d %v %v %d %v", &low, &ms, milliseconds(&f.Latency.StdDev), &median, milliseconds(&f.Latency.Max))
	f.Percentiles = t.percentiles(time.Millisecond)
	return t.result(&f)
}

// RunGoab runs goab, whose connections are those of Go's client: two of them are kept. goab crashes
// at the first failure.
func RunGoab(ctx context.Context, program, url string, requests, conns int) (*Figures, error) {
	t, _, err := run(ctx, Goab, program, []string{"-c", strconv.Itoa(conns), "-n", strconv.Itoa(requests), "-k", url})
	if err != nil {
		return nil, err
	}
	var f Figures
	t.need("Avg latency over ", "%d requests: %v", &f.Requests, duration(&f.Latency.Mean))
	t.need("Max latency:", "%v", duration(&f.Latency.Max))
	t.need("Total error count:", "%d", &f.Failed)
	t.need("Total time:", "%v", duration(&f.Elapsed))
	t.need("TPS:", "%v", &f.PerSecond)
	return t.result(&f)
}

// RunGofast runs gofast's perf as a client. PerSecond is the rate that it prints, by whole seconds:
// it is at least the true one, up to twice as much. Requests by Elapsed is at most the true one.
//
// perf prints nothing about a run of less than a second, and a run of StreamRx never ends.
func RunGofast(ctx context.Context, program, addr string, o perf.Options) (*Figures, error) {
	counted, ok := map[perf.Do][]string{
		perf.Post: {"n_txpost"}, perf.Request: {"n_txreq"}, perf.StreamTx: {"n_txstream", "n_txstart"},
	}[o.Do]
	if !ok {
		return nil, fmt.Errorf("gofast prints no rate of %s: %w", o.Do, errors.ErrUnsupported)
	}
	n := strconv.Itoa
	t, took, err := run(ctx, Gofast, program, []string{
		"-c", "-addr", addr, "-do", string(o.Do), "-count", n(o.Count), "-routines", n(o.Routines), "-conns", n(o.Conns),
		"-batchsize", n(o.Batch), "-payload", n(o.Payload), "-stream", n(o.Stream),
	})
	if err != nil {
		return nil, err
	}
	f := Figures{Elapsed: took}
	t.need("Latency Average:", "%v", duration(&f.Latency.Mean))
	t.need("Throughput:", "%v", &f.PerSecond)
	var samples int64
	var mean, variance time.Duration
	t.need("request stats:", "n:%d mean:%v var:%v sd:%v", &samples, duration(&mean), duration(&variance), duration(&f.Latency.StdDev))
	for _, name := range counted {
		found := regexp.MustCompile(`"` + name + `":(\d{1,18})\b`).FindStringSubmatch(t.all)
		if found == nil {
			return nil, fmt.Errorf("gofast prints no count %s: %q", name, clip([]byte(t.all)))
		}
		n, _ := strconv.ParseInt(found[1], 10, 64) // the expression has digits alone
		f.Requests += n
	}
	return t.result(&f)
}

//go:embed wrk.lua
var wrkScript []byte

// WriteWrkScript writes the script for wrk into a directory, and returns its path: the script
// describes its arguments.
func WriteWrkScript(dir string) (path string, err error) {
	path = filepath.Join(dir, "wrk.lua")
	return path, os.WriteFile(path, wrkScript, 0o600)
}

// RunWrk runs wrk with one thread for a duration in whole seconds, at least one. bodies, if not "",
// is a file whose lines are posted in turns, as the script of gofence's document does it: one
// request in a turn has no body, and is answered with an error.
func RunWrk(ctx context.Context, program, url, bodies string, conns int, d time.Duration) (f *Figures, err error) {
	args := []string{"-t1", fmt.Sprintf("-c%d", conns), fmt.Sprintf("-d%ds", max(1, int(d.Round(time.Second).Seconds()))), "--latency"}
	if bodies == "" {
		args = append(args, url)
	} else {
		dir, remove, failed := process.TempDir("paddock-peer-")
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, remove()) }()
		script, failed := WriteWrkScript(dir)
		if failed != nil {
			return nil, failed
		}
		args = append(args, "-s", script, url, "--", "original", bodies)
	}
	t, _, err := run(ctx, Wrk, program, args)
	if err != nil {
		return nil, err
	}
	f = &Figures{}
	t.need("Latency", "%v %v %v %v", duration(&f.Latency.Mean), duration(&f.Latency.StdDev), duration(&f.Latency.Max), percent(&f.Latency.Within))
	t.need("Req/Sec", "%v %v %v %v", metric(&f.Rate.Mean), metric(&f.Rate.StdDev), metric(&f.Rate.Max), percent(&f.Rate.Within))
	f.Percentiles = t.percentiles(0)
	var read float64
	t.need("", "%d requests in %v %v", &f.Requests, duration(&f.Elapsed), binary(&read))
	f.Bytes = int64(read)
	var connect, reading, write, timeout int64
	t.look("Socket errors:", "connect %d, read %d, write %d, timeout %d", &connect, &reading, &write, &timeout)
	f.Failed = connect + reading + write + timeout
	t.look("Non-2xx or 3xx responses:", "%d", &f.NonSuccess)
	t.need("Requests/sec:", "%v", &f.PerSecond)
	return t.result(f)
}
