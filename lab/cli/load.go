package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"paddock/internal/process/terminal"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/report"
	"paddock/lab/internal/report/live"
	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// loadFlags are the flags of every benchmark that makes load: how much of it, the objectives, and
// the flags of its runs.
type loadFlags struct {
	Rate     string `placeholder:"ARRIVALS" help:"Requests are due at this rate, whether or not the service keeps up: 1000/s, \"poisson 1000/s\", \"100..1000/s over 30s\", \"burst 50 every 1s\", or several with commas between them (default: each connection asks again when it is answered)."`
	Conns    int    `short:"c" placeholder:"N" default:"${conns=50}" help:"Connections (default ${default})."`
	runFlags `embed:""`
	SLO      string `name:"slo" placeholder:"LIST" help:"Objectives, such as \"p99<50ms,err<0.1%,rate>=0.99*target\", with commas, semicolons or spaces between them; the exit code says whether it did."`
}

// runFlags are the flags of a run, whatever load it makes: its length, how requests are sent, and
// where the results go.
type runFlags struct {
	Duration time.Duration `short:"d" placeholder:"DURATION" help:"Length of the measurement (default 10s, unless -n or --rate says it)."`
	Count    int64         `name:"requests" short:"n" placeholder:"N" help:"End after so many requests."`
	Warmup   time.Duration `placeholder:"DURATION" help:"Unmeasured load before the measurement."`
	Timeout  time.Duration `placeholder:"DURATION" default:"${timeout=30s}" help:"A request without an answer for so long has failed, and its time from the send counts as this (default ${default})."`
	Grace    time.Duration `placeholder:"DURATION" default:"5s" help:"For how long the end waits for answers (default ${default})."`
	Depth    int           `placeholder:"N" default:"${depth=1}" help:"Requests that may wait on one connection (default ${default})."`
	PerConn  int64         `placeholder:"N" help:"Replace a connection after so many requests (default never)."`
	Busy     string        `enum:"queue,open,shed,drop" placeholder:"WHAT" default:"queue" complete:"queue,open,shed,drop" help:"When no connection is idle, a request that is due waits (queue), gets a new connection (open), waits for --deadline at most (shed), or is dropped (default ${default})."`
	MaxConns int           `placeholder:"N" help:"Connections at most, with --busy open (default 10000)."`
	Deadline time.Duration `placeholder:"DURATION" help:"How late a request is still sent, with --busy shed."`

	Engine  string `enum:"auto,epoll,go" placeholder:"ENGINE" default:"auto" complete:"auto,epoll,go" help:"I/O engine: epoll (Linux, no TLS) or go (default ${default}: epoll where it can)."`
	Threads int    `placeholder:"N" default:"1" help:"Threads that make the load (default ${default})."`
	Pace    string `enum:"hybrid,sleep,spin" placeholder:"HOW" default:"hybrid" complete:"hybrid,sleep,spin" help:"How a thread waits for the next request: it sleeps, spins, or spins for the last of it (default ${default})."`
	Seed    uint64 `placeholder:"N" default:"1" help:"Seed of random choices (default ${default})."`

	AllowRed bool   `help:"Judge the objectives by the numbers as they are, although the generator was the bottleneck. Without, the rate is a lower bound and times are upper ones, and an objective that these do not prove is unknown."`
	Out      string `type:"path" placeholder:"DIR" help:"Write the report to this directory: report.html with the plots, run.json and the rest for programs."`
	JSON     bool   `name:"json" help:"Print the report as an object, that of run.json."`
	Repeat   int    `placeholder:"N" default:"${repeat=1}" help:"Make the run so often, one after another (default ${default})."`
	Quiet    bool   `short:"q" help:"Show nothing while it runs."`
}

// The defaults that depend on other flags.
const (
	defaultDuration = 10 * time.Second
	defaultMaxConns = 10_000 // as the flag's help says
	maxRepeat       = 1000
)

// loadRun is a benchmark that is ready to run.
type loadRun struct {
	loadFlags
	title      string
	plan       load.Plan
	objectives []slo.Objective
	also       load.Observer // called with each second; nil = none
	heap       int           // by how many percent it grows; 0 = leanGC

	// Hooks of the protocol, nil without one: begin prepares one run, and account adds to its
	// report. The error of account is a promise that was broken.
	begin   func(context.Context, *load.Plan) error
	account func(*report.Run) error
	// elsewhere makes the run with other processes; nil = load.Run makes it in this one.
	elsewhere func(context.Context, load.Observer) (*load.Result, error)
}

// prepare turns the flags into a plan. codec and where it goes are the caller's. Every
// error is a mistake in the command line.
func (f *loadFlags) prepare(title string, plan load.Plan) (*loadRun, error) {
	r := &loadRun{loadFlags: *f, title: title, plan: plan}
	p := &r.plan
	p.Conns, p.Depth, p.PerConn, p.Threads, p.Seed = f.Conns, f.Depth, f.PerConn, f.Threads, f.Seed
	p.Duration, p.Count, p.Warmup, p.Timeout, p.Grace = f.Duration, f.Count, f.Warmup, f.Timeout, f.Grace
	p.Busy = map[string]load.Busy{"open": load.BusyOpen, "shed": load.BusyShed, "drop": load.BusyDrop}[f.Busy]
	p.Engine = map[string]load.Engine{"epoll": load.Epoll, "go": load.Portable}[f.Engine]
	p.Pace = map[string]load.Pace{"sleep": load.Sleep, "spin": load.Spin}[f.Pace]
	p.Deadline = f.Deadline
	if err := errors.Join(r.check(), r.arrivals(), r.readObjectives()); err != nil {
		return nil, usageError(err)
	}
	if p.MaxConns = f.MaxConns; p.Busy == load.BusyOpen && p.MaxConns == 0 {
		p.MaxConns = defaultMaxConns
	}
	if err := p.Check(); err != nil {
		return nil, usageError(err)
	}
	return r, nil
}

// check refuses mistakes that load.Plan.Check cannot detect.
func (r *loadRun) check() error {
	switch {
	case r.Conns < 1 || r.Threads < 1 || r.Depth < 1:
		return errors.New("-c, --threads and --depth are 1 at least")
	case r.Timeout <= 0:
		return errors.New("--timeout is above 0")
	case r.Repeat < 1 || r.Repeat > maxRepeat:
		return fmt.Errorf("--repeat %d: 1 to %d", r.Repeat, maxRepeat)
	case r.MaxConns > 0 && r.Busy != "open":
		return errors.New("--max-conns is about --busy open; -c says how many connections there are")
	case r.MaxConns > 0 && r.MaxConns < r.Conns:
		return fmt.Errorf("--max-conns %d is below -c %d", r.MaxConns, r.Conns)
	case r.Deadline != 0 && r.Busy != "shed":
		return errors.New("--deadline is about --busy shed")
	case r.Busy != "queue" && r.Rate == "":
		return errors.New("--busy takes --rate: without, a request is due when its connection is idle")
	}
	return nil
}

// arrivals reads --rate, and finds when the run ends.
func (r *loadRun) arrivals() error {
	p := &r.plan
	if r.Rate != "" {
		arrivals, err := load.ParseArrivals(r.Rate, r.Seed)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		p.Arrivals = arrivals
		if p.Duration == 0 && p.Count == 0 {
			p.Duration = max(arrivals.Length()-p.Warmup, 0)
		}
	}
	if p.Duration == 0 && p.Count == 0 {
		p.Duration = defaultDuration
	}
	return nil
}

func (r *loadRun) readObjectives() error {
	if r.SLO == "" {
		return nil
	}
	list, err := slo.Parse(r.SLO)
	if err != nil {
		return fmt.Errorf("--slo: %w", err)
	}
	for _, o := range list {
		if o.OfTarget && r.Rate == "" {
			return fmt.Errorf("--slo: %v: there is no target rate without --rate", o)
		}
	}
	r.objectives = list
	return nil
}

// run makes the run, as often as it is to be made, and prints the reports.
func (r *loadRun) run(ctx context.Context, c *Console) error {
	ctx, release := interruptible(ctx)
	defer release()
	var runs []*report.Run
	var verdict, lost error
	for i := 1; i <= r.Repeat && ctx.Err() == nil; i++ {
		one, err := r.once(ctx, c, release, r.directory(i))
		if err != nil {
			return err
		}
		runs = append(runs, one)
		if r.account != nil {
			lost = worse(lost, r.account(one))
		}
		if err := r.publish(c, one, i); err != nil {
			return err
		}
		verdict = worse(verdict, r.judge(one))
	}
	if len(runs) > 1 && !r.JSON {
		if err := report.WriteRepeats(c.Stdout, runs); err != nil {
			return err
		}
	}
	return overall(verdict, lost)
}

// directory is where the files of a run go; "" = nowhere.
func (r *loadRun) directory(number int) string {
	if r.Out != "" && r.Repeat > 1 {
		return filepath.Join(r.Out, strconv.Itoa(number))
	}
	return r.Out
}

// once makes one run.
func (r *loadRun) once(ctx context.Context, c *Console, release func(), dir string) (*report.Run, error) {
	defer c.leanHeap(cmp.Or(r.heap, leanGC))()
	if r.begin != nil {
		if err := r.begin(ctx, &r.plan); err != nil {
			return nil, err
		}
	}
	var files *runfile.Directory
	if dir != "" {
		var err error
		if files, err = runfile.Create(dir); err != nil {
			return nil, err
		}
	}
	series, recorder := &report.Series{}, runfile.NewRecorder(r.plan, files)
	series.TargetUse = recorder.TargetUse
	observers := load.Observers{recorder, series}
	if r.also != nil {
		observers = append(observers, r.also)
	}
	say := func(string) {}
	if !r.Quiet {
		view := r.view(c)
		defer view.Close()
		say, observers = view.Say, append(observers, view)
	}
	defer context.AfterFunc(ctx, func() {
		release() // a second signal ends the process
		say(fmt.Sprintf("interrupted: waiting up to %v for answers; once more ends it at once", r.plan.Grace))
	})()
	var result *load.Result
	var err error
	if r.elsewhere != nil {
		result, err = r.elsewhere(ctx, observers)
	} else {
		recorder.WatchTarget()
		result, err = load.Run(ctx, r.plan, observers)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, interruptedError(errors.New("interrupted before anything was measured"))
		}
		if failed, ok := errors.AsType[*load.Failed](err); ok {
			return nil, unmeasuredError(fmt.Errorf("%s does not answer: %w", r.title, failed))
		}
		return nil, err
	}
	command := append([]string{"paddock"}, c.Args...)
	run := &report.Run{
		Title: r.title, Plan: &r.plan, Result: result, Series: series, Outcomes: r.outcomes(result, recorder),
		Document: recorder.Document(runfile.ReadManifest(command, result.Began), result), Directory: files,
	}
	run.Document.Objectives = runfile.ObjectivesOf(run.Outcomes)
	run.Document.Title, run.Document.Load = run.Title, describe(&r.plan, result.Engine)
	return run, nil
}

// outcomes judges the objectives. Where the generator was the bottleneck, the numbers are bounds,
// unless --allow-red takes them as they are.
func (r *loadRun) outcomes(result *load.Result, recorder *runfile.Recorder) []slo.Outcome {
	if !r.AllowRed && load.Judge(&r.plan, result).Level == load.Red {
		return slo.CheckBounds(r.objectives, result, recorder.High)
	}
	return slo.Check(r.objectives, result)
}

// view returns the display of a running benchmark.
func (r *loadRun) view(c *Console) *live.View {
	v := &live.View{Title: r.title, Count: r.plan.Count, Out: c.Stderr}
	if r.plan.Duration > 0 {
		v.Length = r.plan.Warmup + r.plan.Duration
	}
	v.Width = terminal.Columns(c.Stderr)
	v.Terminal = v.Width != nil
	return v
}

// publish prints a run's report, and writes it to --out.
func (r *loadRun) publish(c *Console, run *report.Run, number int) error {
	if r.Repeat > 1 && !r.JSON {
		fmt.Fprintf(c.Stdout, "Run %d of %d\n\n", number, r.Repeat)
	}
	write := run.WriteText
	if r.JSON {
		write = run.Document.Write
	}
	if err := write(c.Stdout); err != nil {
		return err
	}
	if r.Repeat > 1 && !r.JSON {
		fmt.Fprintln(c.Stdout)
	}
	if r.Out == "" {
		return nil
	}
	return run.WriteFiles(r.directory(number))
}

// describe returns a short description of the load of a plan.
func describe(p *load.Plan, engine load.Engine) string {
	text := fmt.Sprintf("%s connections, closed", figure.Count(int64(p.Conns)))
	if p.Arrivals != nil {
		text = fmt.Sprintf("%v over %s connections", p.Arrivals, figure.Count(int64(p.Conns)))
		text += [...]string{
			load.BusyQueue: "", load.BusyOpen: fmt.Sprintf(", up to %s if they are busy", figure.Count(int64(p.MaxConns))),
			load.BusyShed: fmt.Sprintf(", given up when %v late", p.Deadline), load.BusyDrop: ", dropped if they are busy",
		}[p.Busy]
	}
	if p.Listeners > 0 {
		text += fmt.Sprintf(", %s that listen", figure.Count(int64(p.Listeners)))
	}
	if p.Depth > 1 {
		text += fmt.Sprintf(", %d requests deep", p.Depth)
	}
	if p.PerConn > 0 {
		text += fmt.Sprintf(", made anew after %d requests", p.PerConn)
	}
	name := "epoll"
	if engine == load.Portable {
		name = "go"
	}
	return text + fmt.Sprintf("; engine %s, threads %d", name, p.Threads)
}

// judge turns the result of a run into the program's exit.
func (r *loadRun) judge(run *report.Run) error {
	missed, unknown := run.Missed()
	switch {
	case run.Result.Stopped:
		return interruptedError(errors.New("interrupted"))
	case run.Result.Total.Done == 0:
		return unmeasuredError(errors.New("no request was answered: the report lists the errors; a longer --grace waits for late answers"))
	case len(missed) > 0:
		return missedError(fmt.Errorf("objectives that were not met: %d, the first %v", len(missed), missed[0]))
	case len(unknown) == 0:
		return nil
	}
	out := "measure for longer"
	if !math.IsNaN(unknown[0].Value) { // there is a number, and it is a bound
		out = "the generator was the bottleneck, and its numbers are only bounds: take more --threads, less load or a machine of its own; --allow-red judges the numbers as they are"
	}
	return unmeasuredError(fmt.Errorf("objectives that cannot be told: %d, the first %v: %s", len(unknown), unknown[0], out))
}

// plainly makes the failure of a run exit with 1, as ab and wrk do.
func plainly(err error) error {
	if e, ok := err.(exitError); ok && (e.code == exitUnmeasured || e.code == exitForced) {
		return errors.New(err.Error())
	}
	return err
}

// worse is the error that says more against the runs: an interruption, then nothing
// measured, then objectives that were missed.
func worse(a, b error) error {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// overall returns the error of a command: lost messages count whatever the objectives say, and only
// an interruption counts before them.
func overall(verdict, lost error) error {
	if lost != nil && rank(verdict) < rankInterrupted {
		return lost
	}
	return verdict
}

// rankInterrupted is the rank of an error that says nothing of the runs.
const rankInterrupted = 3

func rank(err error) int {
	e, ok := err.(exitError)
	switch {
	case err == nil:
		return 0
	case ok && e.code == exitMissed:
		return 1
	case ok && e.code == exitUnmeasured:
		return 2
	}
	return rankInterrupted
}

// The heap grows by so many percent before it is collected while load is made. A run makes little
// garbage, except with scripts, which leave some behind each request. So the memory of a run
// exceeds its data by little, instead of by a factor of two.
const (
	leanGC   = 25
	scriptGC = 50
)

// heapRoom is how many bytes it grows in any case. A small heap that is collected every
// megabyte costs more than the room.
const heapRoom = 4 << 20

// leanHeap lets percent count until undo, unless GOGC says otherwise.
func (c *Console) leanHeap(percent int) (undo func()) {
	if c.variable("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(max(percent, int(100*heapRoom/heapInUse())))
	return func() { debug.SetGCPercent(before) }
}

// heapInUse returns the size of the heap's objects in bytes, garbage included.
func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return max(sample[0].Value.Uint64(), 1<<20)
}
