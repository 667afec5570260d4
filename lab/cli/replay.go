package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/internal/process/version"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/lab/internal/scenario"
	"paddock/lab/internal/sitecorpus"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/http1"
)

// replayFlags are those of the commands that make the loads of go-http-tunnel's benchmark.
type replayFlags struct {
	Rate     []float64     `placeholder:"PER-SECOND" help:"Rates, one after another, with commas between them (default the original's)."`
	Duration time.Duration `short:"d" placeholder:"DURATION" help:"For how long at each rate (default the original's)."`
	Conns    int           `short:"c" placeholder:"N" help:"Connections (default 128)."`
	Threads  int           `placeholder:"N" default:"1" help:"Threads that make the load (default ${default})."`
	Warmup   time.Duration `placeholder:"DURATION" default:"2s" help:"Unmeasured load before, at each rate (default ${default})."`
	Timeout  time.Duration `placeholder:"DURATION" default:"30s" help:"A request without an answer for so long has failed (default ${default})."`
	SLO      string        `name:"slo" placeholder:"LIST" help:"What has to hold at each rate, such as \"p99<5ms,err<=0\"; the exit code says whether it did."`
	AllowRed bool          `help:"Judge the objectives by the numbers as they are, although the generator was the bottleneck."`
	Out      string        `type:"path" placeholder:"DIR" help:"Write the report of each rate to a directory of its own under this one."`
	JSON     bool          `name:"json" help:"Print an object for each load."`
	Quiet    bool          `short:"q" help:"Show nothing while it runs."`
}

// replayExit is the help on the exit codes of all of them.
const replayExit = `Exit codes: 0 the objectives held, 1 a failure of this side, 2 usage, 3 an objective was missed, 4 nothing was measured, or an objective cannot be told, 130 interrupted.`

// replayConns is how many connections there are if nothing else is said.
const replayConns = 128

// maxRates is how many rates a command takes.
const maxRates = 64

// replay is one of the loads, with its target.
type replay struct {
	replayFlags
	load    *scenario.Load
	target  string // as the report has it
	subject string // the requests, for the report
	plan    load.Plan

	names []string       // of the processes that are watched
	watch *process.Watch // nil without processes to watch
}

// check gives the first flag that makes no sense, and fills in the original's.
func (r *replay) check() error {
	if len(r.Rate) == 0 {
		r.Rate = r.load.Rates()
	}
	if r.Duration == 0 {
		r.Duration = r.load.Duration
	}
	r.Conns = cmp.Or(r.Conns, replayConns)
	if len(r.Rate) > maxRates {
		return fmt.Errorf("%d rates: want %d at most", len(r.Rate), maxRates)
	}
	for _, rate := range r.Rate {
		if rate <= 0 {
			return fmt.Errorf("--rate %v: want above 0", rate)
		}
	}
	return nil
}

// run makes the load at each rate, and prints the report. The verdict is the program's exit
// if nothing has failed.
func (r *replay) run(ctx context.Context, c *Console) (verdict, err error) {
	if err := r.check(); err != nil {
		return nil, usageError(err)
	}
	ctx, release := interruptible(ctx)
	defer release()
	report := &scenario.Report{Load: r.load.Name, Target: r.target, Subject: r.subject, Duration: r.Duration}
	for _, rate := range r.Rate {
		row, judged, err := r.at(ctx, c, release, rate)
		if err != nil {
			return nil, err
		}
		report.Rows = append(report.Rows, row)
		verdict = worse(verdict, judged)
		if ctx.Err() != nil {
			break
		}
	}
	return verdict, c.print(report, r.JSON)
}

// flags are those of a run at one rate.
func (r *replay) flags(rate float64) *loadFlags {
	return &loadFlags{
		Rate: strconv.FormatFloat(rate, 'f', -1, 64) + "/s", Conns: r.Conns, SLO: r.SLO, runFlags: runFlags{
			Duration: r.Duration, Warmup: r.Warmup, Timeout: r.Timeout, Grace: 5 * time.Second, Depth: 1, Busy: "queue",
			Threads: r.Threads, Seed: 1, AllowRed: r.AllowRed, Repeat: 1, Quiet: r.Quiet,
		},
	}
}

// at makes it at one rate.
func (r *replay) at(ctx context.Context, c *Console, release func(), rate float64) (row scenario.Row, verdict, err error) {
	flags := r.flags(rate)
	one, err := flags.prepare(fmt.Sprintf("%s %s/s: %s", r.load.Name, figure.Number(rate), r.target), r.plan)
	if err != nil {
		return row, nil, err
	}
	dir := ""
	if r.Out != "" {
		dir = filepath.Join(r.Out, r.load.Name+"-"+strconv.FormatFloat(rate, 'f', -1, 64))
	}
	var before []process.Use
	if r.watch != nil {
		r.watch.Look()
		before, _ = r.watch.Last()
		one.also = r.watch
	}
	done, err := one.once(ctx, c, release, dir)
	if err != nil {
		return row, nil, err
	}
	row = r.load.NewRow(rate, done.Plan, done.Result)
	if r.watch != nil {
		r.watch.Look()
		last, most := r.watch.Last()
		for i, name := range r.names {
			// Of the warm-up too, whose requests are not among the row's.
			share := done.Result.Elapsed.Seconds() / (done.Result.Elapsed + done.Result.Warmup).Seconds()
			used := time.Duration(float64(last[i].CPU-before[i].CPU) * share)
			row.Used = append(row.Used, scenario.Used{Name: name, CPU: used, MaxResident: most[i].MaxResident})
		}
	}
	if dir != "" {
		err = done.WriteFiles(dir)
	}
	return row, one.judge(done), err
}

// page is the requests for the corpus below a URL, or for the URL alone.
func page(url string, corpus bool, header []string) (requests http1.Requests, subject string, err error) {
	r := http1.Request{URL: url, UserAgent: "paddock/" + version.Get().Version}
	for _, text := range header {
		field, err := http1.ParseField(text)
		if err != nil {
			return nil, "", err
		}
		r.Header = append(r.Header, field)
	}
	arena := &http1.Arena{}
	if !corpus {
		return arena, "itself", arena.Add(&r)
	}
	if strings.ContainsAny(url, "?#") {
		return nil, "", errors.New("--corpus: the URL is that of a directory, without a query")
	}
	for i := range sitecorpus.Files {
		r.URL = strings.TrimSuffix(url, "/") + "/" + strconv.Itoa(i)
		if err := arena.Add(&r); err != nil {
			return nil, "", err
		}
	}
	return arena, corpusSubject(), nil
}

// corpusSubject names the corpus.
func corpusSubject() string {
	files := sitecorpus.Make()
	return fmt.Sprintf("%d files of %s together, sha256 %s", len(files), figure.Bytes(sitecorpus.Size(files)), sitecorpus.Digest(files))
}

// replayURL is the service that a replay's commands are given.
type replayURL struct {
	URL    string   `arg:"" help:"What to ask for."`
	Corpus bool     `help:"Ask for the 184 files of \"paddock bench responder --corpus\" below URL, in turns."`
	Header []string `short:"H" sep:"none" placeholder:"\"NAME: VALUE\"" help:"Header field; once for each. Host says which tunnel."`
}

// replay makes a load on it.
func (u *replayURL) replay(ctx context.Context, c *Console, l *scenario.Load, flags replayFlags) error {
	u.URL = http1.WithScheme(u.URL)
	target := httpTarget{URL: u.URL}
	plan, err := target.target()
	if err != nil {
		return usageError(err)
	}
	requests, subject, err := page(u.URL, u.Corpus, u.Header)
	if err != nil {
		return usageError(err)
	}
	plan.Codec = &http1.Codec{Requests: requests}
	r := replay{replayFlags: flags, load: l, target: runfile.Redact([]string{u.URL})[0], subject: subject, plan: plan}
	verdict, err := r.run(ctx, c)
	return cmp.Or(err, verdict)
}

// pressureCmd makes go-http-tunnel's constant pressure. docs/guides/bench-tunnel.md is
// its guide.
type pressureCmd struct {
	replayURL
	replayFlags `embed:""`
}

// Help describes the columns.
func (*pressureCmd) Help() string {
	return `Twenty minutes, or --duration, at each of 300, 400 and 500 requests a second, which are due whether or not others have been answered. The report is that of "paddock bench spike".

` + replayExit + `

    paddock bench pressure http://127.0.0.1:8000/ --corpus -H "Host: app.example" -d 2m`
}

// Run makes the load and prints its report.
func (b *pressureCmd) Run(ctx context.Context, c *Console) error {
	return b.replay(ctx, c, scenario.Pressure(), b.replayFlags)
}

// spikeCmd makes go-http-tunnel's load spike. docs/guides/bench-tunnel.md is its guide.
type spikeCmd struct {
	replayURL
	replayFlags `embed:""`
}

// Help describes the columns.
func (*spikeCmd) Help() string {
	return `Two minutes at each of 600, 800, 900 and 1000 requests a second, which are due whether or not others have been answered. The report has the original's columns, its figures beside them, and the p99 that users see.

` + replayExit + `

    paddock bench spike http://127.0.0.1:8000/ --corpus -H "Host: app.example"
    paddock bench spike http://127.0.0.1:8000/ --rate 6000,8000 -d 30s --slo "p99<5ms,err<=0"`
}

// Run makes the load and prints its report.
func (b *spikeCmd) Run(ctx context.Context, c *Console) error {
	return b.replay(ctx, c, scenario.Spike(), b.replayFlags)
}
