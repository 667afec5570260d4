package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/gofence"
	"paddock/lab/internal/report"
	"paddock/lab/internal/runfile"
	"paddock/load"
)

// kindReport is the result of all kinds.
type kindReport struct {
	Corpus *gofence.CorpusName `json:"corpus"`
	Set    string              `json:"set"`
	Kinds  []kindRun           `json:"kinds"`
}

// kindRun is the result of one kind.
type kindRun struct {
	Kind     string            `json:"kind"`
	Start    int64             `json:"start_ns"` // from the start of the process until it listened
	Original *float64          `json:"original_per_second"`
	Run      *runfile.Document `json:"run"`

	measured *report.Run
}

// compare asks a service of each kind, and prints a table.
func (b *fenceCmd) compare(ctx context.Context, c *Console) (err error) {
	if b.Set != "" || b.Token != "" || b.Repeat > 1 {
		return usagef("--set, --token and --repeat are about one service")
	}
	kinds := b.Kinds
	if len(kinds) == 1 && kinds[0] == "all" {
		kinds = nil
	}
	variants, err := variantsOf("--kind", kinds)
	if err != nil {
		return usageError(err)
	}
	if _, err := b.prepare("", load.Plan{Address: "127.0.0.1:0", Codec: &load.Raw{}}); err != nil {
		return err
	}
	subject, err := newFenceSubject(b.Data, b.Bodies)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, subject.remove()) }()
	ctx, release := interruptible(ctx)
	defer release()
	all := kindReport{Corpus: subject.corpus.Named(), Set: subject.set}
	var verdict error
	for _, v := range variants {
		k, err := b.kind(ctx, c, release, subject, v)
		if k != nil {
			all.Kinds = append(all.Kinds, *k)
		}
		if verdict = worse(verdict, err); rank(err) > 2 || ctx.Err() != nil {
			break // of a failure or an interruption nothing more comes
		}
	}
	return errors.Join(verdict, c.print(&all, b.JSON))
}

// kind measures a service of one kind. The error may be the verdict on a run that is there.
func (b *fenceCmd) kind(ctx context.Context, c *Console, release func(), subject *fenceSubject, v gofence.Variant) (k *kindRun, err error) {
	if !b.Quiet {
		fmt.Fprintf(c.Stderr, "%s\n", v.Name)
	}
	subject.warn(c, v, b.Parents)
	server, target, err := subject.start(ctx, v, b.Parents)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Name, err)
	}
	defer func() {
		if ended := server.Stop(); ended != nil {
			err = fmt.Errorf("%s: %w", v.Name, ended)
		}
	}()
	run, err := b.overHTTP(target, subject.corpus)
	if err != nil {
		return nil, err
	}
	run.title = v.Name
	out := b.Out
	if out != "" {
		out = filepath.Join(out, v.Name)
	}
	one, err := run.once(ctx, c, release, out)
	if err != nil {
		return nil, err
	}
	if out != "" {
		if err := one.WriteFiles(out); err != nil {
			return nil, err
		}
	}
	k = &kindRun{Kind: v.Name, Start: int64(server.Started), Run: one.Document, measured: one}
	if rate := gofence.OriginalRate(v.Name); rate > 0 {
		k.Original = &rate
	}
	return k, run.judge(one)
}

// WriteText prints the table.
func (r *kindReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%d bodies, SHA-256 %s, set %s\n\n", r.Corpus.Bodies, r.Corpus.SHA256, r.Set)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "kind\trequests/s\tp50\tp90\tp99\tmax\terrors\tstart\tlamp\tgofence 2016\t")
	for _, k := range r.Kinds {
		h := k.measured.Result.Total.Response
		verdict := load.Judge(k.measured.Plan, k.measured.Result)
		original := "-"
		if k.Original != nil {
			original = figure.Number(*k.Original)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t%s\t\n", k.Kind, figure.Number(k.measured.Result.PerSecond()),
			figure.Time(h.Quantile(0.5)), figure.Time(h.Quantile(0.9)), figure.Time(h.Quantile(0.99)), figure.Time(h.Max()),
			figure.Count(k.measured.Result.Total.Errors()), figure.Time(time.Duration(k.Start)), verdict.Level, original)
	}
	return t.Flush()
}
