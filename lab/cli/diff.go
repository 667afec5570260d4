package cli

import (
	"fmt"
	"strings"

	"paddock/lab/internal/diff"
)

// diffCmd compares runs before and after a change. docs/guides/bench-compare.md is its guide.
type diffCmd struct {
	A string `arg:"" type:"path" placeholder:"A" help:"The run before the change: a directory of --out, its run.json, or a directory with several runs, as --repeat makes them."`
	B string `arg:"" type:"path" placeholder:"B" help:"The run after it."`

	Threshold string `placeholder:"LIST" default:"3%" help:"From which change on a figure counts: 3%, or \"3%,p99=10%\" (default ${default})."`
	Anyway    bool   `help:"Compare runs whose loads differ."`
	AllowRed  bool   `help:"Judge figures of runs whose generator was the bottleneck as they are."`
	JSON      bool   `name:"json" help:"Print an object."`
}

// Help describes the samples, the outcomes and the exit codes.
func (*diffCmd) Help() string {
	return `With several runs on each side each run is a sample, of at least six: --repeat 10 makes ten. With one run on each side the samples are parts of it, behind its warm-up, of so many seconds that neighbours are nearly independent.

A figure is worse if its change is significant and may be as large as the threshold; it is the same if its interval excludes such a change; else it is unknown, and the report says how much more to measure.

Exit codes: 0 no figure is worse, 1 a failure of this side, 2 usage, or the loads differ, 3 a figure is worse, 4 too little was measured to tell.

    paddock bench http URL -c 50 -d 10s --repeat 10 --out before
    paddock bench http URL -c 50 -d 10s --repeat 10 --out after
    paddock bench diff before after --threshold 3%,p99=10%`
}

// Run compares, and prints the result.
func (b *diffCmd) Run(c *Console) error {
	threshold, err := diff.Thresholds(b.Threshold)
	if err != nil {
		return usagef("--threshold: %w", err)
	}
	before, err := diff.Read(b.A)
	if err != nil {
		return usageError(err)
	}
	after, err := diff.Read(b.B)
	if err != nil {
		return usageError(err)
	}
	if fields := before.Differ(after); len(fields) > 0 && !b.Anyway {
		return usagef("the loads differ in %s: --anyway compares them", strings.Join(fields, ", "))
	}
	result := diff.Compare(before, after, threshold, b.AllowRed)
	if err := c.print(result, b.JSON); err != nil {
		return err
	}
	if worse := result.Has(diff.Worse); len(worse) > 0 {
		return missedError(fmt.Errorf("worse: %s", strings.Join(worse, ", ")))
	}
	if unknown := result.Has(diff.Unknown); len(unknown) > 0 {
		return unmeasuredError(fmt.Errorf("unknown: %s", strings.Join(unknown, ", ")))
	}
	return nil
}
