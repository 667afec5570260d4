package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook/dryrun"
)

// Rules are the commands about the rules of a running platform.
type Rules struct {
	Ls   rulesLsCmd   `cmd:"" help:"List the rules of a running platform."`
	Show rulesShowCmd `cmd:"" help:"Print a rule of a running platform as JSON."`
	Put  rulesPutCmd  `cmd:"" help:"Add or replace the rules of files on a running platform."`
	Rm   rulesRmCmd   `cmd:"" help:"Remove a rule of a running platform."`
}

// rulesLsCmd lists rules.
type rulesLsCmd struct {
	Set  string `placeholder:"SET" help:"Only rules about this set."`
	JSON bool   `name:"json" help:"Print an array of objects."`
	remote
}

// shownRule is what the table shows of a rule.
type shownRule struct {
	ID, Set, Fleet, Objects, When string
	Detect                        []string
}

// Run prints a line for each rule.
func (k *rulesLsCmd) Run(ctx context.Context, c *Console) error {
	l := &listing[shownRule]{
		remote: &k.remote, path: pathOf("rules"), member: "rules", json: k.JSON,
		query: url.Values{"set": {k.Set}},
		head:  []string{"ID", "SET", "FLEET", "OBJECTS", "DETECT", "WHEN"},
		cells: func(r *shownRule) []string {
			return []string{r.ID, orDash(r.Set), orDash(r.Fleet), orDash(r.Objects), orDash(strings.Join(r.Detect, ",")), orDash(r.When)}
		},
	}
	return l.print(ctx, c)
}

// rulesShowCmd shows a rule.
type rulesShowCmd struct {
	ID string `arg:"" help:"The rule."`
	remote
}

// Run prints the rule.
func (k *rulesShowCmd) Run(ctx context.Context, c *Console) error {
	var raw json.RawMessage
	if err := k.ask(ctx, &raw, http.MethodGet, pathOf("rules", k.ID), nil, nil); err != nil {
		return err
	}
	return c.printJSON(raw)
}

// rulesPutCmd adds or replaces rules.
type rulesPutCmd struct {
	Files   []string `arg:"" name:"file" help:"Files of rules, as rules.yaml; YAML or JSON."`
	IfMatch string   `placeholder:"ETAG" help:"Only if the rule is still in this state. For one rule."`
	DryRun  bool     `help:"Change nothing: read the files, and say what is wrong."`
	JSON    bool     `name:"json" help:"Print an object with rule and warnings for each rule, on a line."`
	remote
}

// Help describes the output.
func (*rulesPutCmd) Help() string {
	return `All files are read before the first rule is sent. Each rule is acknowledged when it is stored, and holds for every later position. Rules of the platform that the files do not name stay. A rule of the platform's own rules.yaml is refused: edit that file.

Exit codes: 0 all rules are in force, 1 a rule was refused and those before it are in force, the platform did not answer, or a file cannot be read, 2 usage, or a fault in a file: nothing was sent.

    paddock rules put rules.yaml
    paddock rules put rules.yaml --dry-run`
}

// Run puts the rules, one after the other.
func (k *rulesPutCmd) Run(ctx context.Context, c *Console) error {
	var all []*rule.Rule
	for _, file := range k.Files {
		rules, err := dryrun.ReadRules(file)
		if _, unread := errors.AsType[*fs.PathError](err); err != nil && !unread {
			return usageError{err}
		}
		if err != nil {
			return err
		}
		all = append(all, rules...)
	}
	if k.IfMatch != "" && len(all) != 1 {
		return usagef("--if-match is for one rule, and the files have %d", len(all))
	}
	if k.DryRun {
		return k.tell(c, all)
	}
	for _, r := range all {
		if err := k.put(ctx, c, r); err != nil {
			return fmt.Errorf("rule %s: %w", r.ID, err)
		}
	}
	return nil
}

// changedRule is the answer to a change.
type changedRule struct {
	Rule     json.RawMessage `json:"rule"`
	Warnings []string        `json:"warnings,omitempty"`
}

// tell prints rules that are not sent.
func (k *rulesPutCmd) tell(c *Console, all []*rule.Rule) error {
	if !k.JSON {
		_, err := fmt.Fprintf(c.Stdout, "%d rules would be added or replaced\n", len(all))
		return err
	}
	for _, r := range all {
		if err := c.printLine(changedRule{Rule: r.AppendJSON(nil)}); err != nil {
			return err
		}
	}
	return nil
}

func (k *rulesPutCmd) put(ctx context.Context, c *Console, r *rule.Rule) error {
	res, err := k.open(ctx, http.MethodPut, pathOf("rules", r.ID), ifMatch(k.IfMatch), r.AppendJSON(nil))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var changed changedRule
	if err := json.NewDecoder(res.Body).Decode(&changed); err != nil {
		return fmt.Errorf("the answer of %s: %w", k.found.url, err)
	}
	if k.JSON {
		return c.printLine(changed)
	}
	verb := "replaced"
	if res.StatusCode == http.StatusCreated {
		verb = "added"
	}
	fmt.Fprintf(c.Stdout, "%s: %s\n", r.ID, verb)
	for _, w := range changed.Warnings {
		fmt.Fprintf(c.Stderr, "rule %s: warning: %s\n", r.ID, plain(w))
	}
	return nil
}

// rulesRmCmd removes a rule.
type rulesRmCmd struct {
	ID string `arg:"" help:"The rule."`
	remote
}

// Run removes it.
func (k *rulesRmCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodDelete, pathOf("rules", k.ID), nil, nil)
}
