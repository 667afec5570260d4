package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"paddock/cmd/paddock/client"
	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/dryrun"
)

// rulesCmd works on files of rules, without a platform, and on the rules of a platform. See
// docs/guides/rules.md.
type rulesCmd struct {
	client.Rules

	Check rulesCheckCmd `cmd:"" help:"Say what is wrong with a file of rules."`
	Test  rulesTestCmd  `cmd:"" help:"Say which events rules would tell for recorded positions."`
}

// rulesCheckCmd reads a file of rules.
type rulesCheckCmd struct {
	File string `arg:"" help:"File of rules, as rules.yaml."`
	Sets string `placeholder:"DIR" help:"Also warn of sets and fences that this directory of GeoJSON files does not have."`
	JSON bool   `name:"json" help:"Print an object with file, rules and warnings."`
}

// Run prints the number of rules, or their faults.
func (k *rulesCheckCmd) Run(c *console) error {
	rules, err := readRules(k.File)
	if err != nil {
		return err
	}
	warnings := []string{}
	if k.Sets != "" {
		catalog, err := dryrun.ReadSets(k.Sets, fence.Options{})
		if err != nil {
			return err
		}
		warnings = warningsOf(catalog, rules)
	}
	if k.JSON {
		return c.printJSON(map[string]any{"file": k.File, "rules": len(rules), "warnings": warnings})
	}
	warn(c.Stderr, k.File, warnings)
	fmt.Fprintf(c.Stdout, "%s: %d rules\n", k.File, len(rules))
	return nil
}

// rulesTestCmd is the dry run of the command line.
type rulesTestCmd struct {
	File      string `arg:"" help:"File of rules, as rules.yaml."`
	Sets      string `required:"" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each; its files SET.policy.yaml are the policies."`
	Positions string `required:"" placeholder:"FILE" help:"Positions in the forms of POST /v1/positions, each with its time; - is standard input."`
	Policy    string `placeholder:"PRESET|FILE" help:"Policy in place of those of all sets: raw, steady, accuracy, dwell:DURATION, or a file as SET.policy.yaml (default that of each set, or steady)."`
	JSON      bool   `name:"json" help:"Print an object as POST /v1/rules/dry-run answers it, with at most 10000 events."`
}

// Help describes the output.
func (*rulesTestCmd) Help() string {
	return `Nothing is running, and nothing is kept: the positions are applied to an empty state, each at its own time. Of one object, a position behind a newer one is late. Each event is a line with its time, its kind, its rule, its fence, its object, and its reason unless it is a move. Names are written as in subjects of the bus. Several rules may select an enter, exit or cross, so these have - in place of a rule. The last line is a summary.

Exit codes: 0 all positions were understood, 1 some were not, each of which is named with its line, or a file cannot be read, 2 usage, or a fault in the rules or in a policy.

    paddock rules test rules.yaml --sets DIR --positions day.ndjson
    paddock rules test rules.yaml --sets DIR --positions - --policy raw < day.ndjson`
}

// Run applies the positions, and prints what happens.
func (k *rulesTestCmd) Run(ctx context.Context, c *console) error {
	rules, err := readRules(k.File)
	if err != nil {
		return err
	}
	policy, err := k.policy()
	if err != nil {
		return err
	}
	catalog, err := dryrun.ReadSets(k.Sets, fence.Options{})
	if err != nil {
		return err
	}
	state, err := dryrun.ReadState(k.Sets, k.File, rules)
	if err != nil {
		return usageError{err}
	}
	recording, err := k.recording(c)
	if err != nil {
		return err
	}
	warn(c.Stderr, k.File, warningsOf(catalog, rules))
	view := dryrun.View(catalog, state, policy)
	if k.JSON {
		return k.printResult(ctx, c, view, recording)
	}
	return k.printLines(ctx, c, view, recording)
}

// policy returns the policy of the flag, or nil without one.
func (k *rulesTestCmd) policy() (*track.Policy, error) {
	if k.Policy == "" {
		return nil, nil
	}
	p, presetErr := track.ParsePolicy(k.Policy)
	if presetErr == nil {
		return &p, nil
	}
	text, err := os.ReadFile(k.Policy)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("--policy: there is no file %s, and as a preset: %w", k.Policy, presetErr)
	case err != nil:
		return nil, fmt.Errorf("--policy: %w", err)
	}
	if p, err = rulebook.ParsePolicy(k.Policy, text); err != nil {
		return nil, usageError{err}
	}
	return &p, nil
}

// recording reads the positions.
func (k *rulesTestCmd) recording(c *console) (*dryrun.Recording, error) {
	if k.Positions == "-" {
		return dryrun.ReadPositions("standard input", c.Stdin)
	}
	f, err := os.Open(k.Positions)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return dryrun.ReadPositions(k.Positions, f)
}

// printLines prints a line for each event, and a summary.
func (k *rulesTestCmd) printLines(ctx context.Context, c *console, view *track.View, recording *dryrun.Recording) error {
	out := bufio.NewWriter(c.Stdout)
	told := 0
	var line []byte
	count, err := dryrun.Run(ctx, view, recording.Positions, func(e *track.Event) {
		told++
		line = dryrun.AppendLine(line[:0], e)
		_, _ = out.Write(line) // the error is that of Flush
	})
	if err != nil {
		return errors.Join(out.Flush(), err)
	}
	rejected := len(recording.Rejected) + recording.Omitted
	fmt.Fprintf(out, "%d positions: %d accepted, %d late, %d outliers, %d rejected; %d events\n",
		count.Positions+rejected, count.Accepted, count.Late, count.Outliers, rejected, told)
	return errors.Join(out.Flush(), k.rejections(c, recording))
}

// printResult prints the answer of a dry run.
func (k *rulesTestCmd) printResult(ctx context.Context, c *console, view *track.View, recording *dryrun.Recording) error {
	out := struct {
		dryrun.Count
		Rejected []dryrun.Rejection `json:"rejected"`
		dryrun.Events
	}{Rejected: append([]dryrun.Rejection{}, recording.Rejected...)}
	var err error
	if out.Count, out.Events, err = dryrun.Encode(ctx, view, recording.Positions); err != nil {
		return err
	}
	out.Positions += len(recording.Rejected) + recording.Omitted
	return errors.Join(c.printJSON(out), k.rejections(c, recording))
}

// rejections names the elements that are no positions, and returns an error if there are any.
func (k *rulesTestCmd) rejections(c *console, recording *dryrun.Recording) error {
	if len(recording.Rejected) == 0 {
		return nil
	}
	file := k.Positions
	if file == "-" {
		file = "standard input"
	}
	for i := range recording.Rejected {
		r := &recording.Rejected[i]
		fmt.Fprintf(c.Stderr, "%s: %s\n", r.Place(file), r.Reason)
	}
	return fmt.Errorf("%s: %d positions were rejected", file, len(recording.Rejected)+recording.Omitted)
}

// readRules reads a file of rules. Faults in it are mistakes of usage.
func readRules(file string) ([]*rule.Rule, error) {
	rules, err := dryrun.ReadRules(file)
	if _, unread := errors.AsType[*fs.PathError](err); err != nil && !unread {
		return nil, usageError{err}
	}
	return rules, err
}

// maxRuleWarnings bounds the warnings about a file.
const maxRuleWarnings = 100

// warningsOf names what rules refer to and is not there.
func warningsOf(catalog *fence.Catalog, rules []*rule.Rule) []string {
	all := []string{}
	for _, r := range rules {
		for _, w := range rulebook.Warnings(catalog, r) {
			all = append(all, fmt.Sprintf("rule %s: %s", r.ID, w))
		}
	}
	return all[:min(len(all), maxRuleWarnings)]
}

func warn(w io.Writer, file string, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(w, "%s: %s\n", file, text)
	}
}
