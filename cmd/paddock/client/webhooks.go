package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/webhook"
)

// Webhooks operates the webhooks of a running platform. See docs/guides/webhooks.md.
type Webhooks struct {
	Ls      webhooksLsCmd      `cmd:"" help:"List webhooks, and how their deliveries are."`
	Add     webhooksAddCmd     `cmd:"" help:"Add a webhook."`
	Rm      webhooksRmCmd      `cmd:"" help:"Remove a webhook, with its state and its dead letters."`
	Retry   webhooksRetryCmd   `cmd:"" help:"End the pause after a failure."`
	Enable  webhooksEnableCmd  `cmd:"" help:"Let a disabled webhook go on where it was."`
	Disable webhooksDisableCmd `cmd:"" help:"Stop a webhook until it is enabled."`
	Dead    webhooksDeadCmd    `cmd:"" help:"List the events that a webhook has refused."`
	Replay  webhooksReplayCmd  `cmd:"" help:"Deliver events again."`
	Listen  webhooksListenCmd  `cmd:"" help:"Be an endpoint for development: print and verify requests."`
}

// webhookPath returns the path of a webhook.
func webhookPath(id string, more ...string) string {
	path := "v1/webhooks/" + url.PathEscape(id)
	for _, m := range more {
		path += "/" + url.PathEscape(m)
	}
	return path
}

// webhooksLsCmd lists webhooks.
type webhooksLsCmd struct {
	JSON bool `name:"json" help:"Print an array of objects."`
	remote
}

// Run prints a line for each webhook.
func (k *webhooksLsCmd) Run(ctx context.Context, c *Console) error {
	all := []*hooks.Shown{}
	for after := ""; ; {
		var list hooks.List
		if err := k.ask(ctx, &list, http.MethodGet, "v1/webhooks?limit=1000&after="+url.QueryEscape(after), nil, nil); err != nil {
			return err
		}
		all = append(all, list.Webhooks...)
		if after = list.Next; after == "" {
			break
		}
	}
	if k.JSON {
		return c.printJSON(all)
	}
	table := newTable(c.Stdout, "ID", "STATE", "LAG", "DELIVERED", "DEAD", "MISSED", "LAST", "NEXT", "URL")
	for _, s := range all {
		var e webhook.Endpoint
		if err := json.Unmarshal(s.Webhook, &e); err != nil {
			return err
		}
		table.row(e.ID, fmt.Sprint(s.State.State), fmt.Sprint(s.State.Lag), fmt.Sprint(s.State.Sent), fmt.Sprint(s.State.Letters), fmt.Sprint(s.State.Missed),
			lastText(&s.State), timeText(s.State.Next), e.URL)
	}
	return table.flush()
}

// lastText describes the last attempt, and why there is no further one.
func lastText(s *hooks.State) string {
	text := "-"
	if s.Last != nil {
		text = timeText(s.Last.At) + " " + s.Last.Outcome
		if s.Last.Status != 0 {
			text += fmt.Sprintf(" %d", s.Last.Status)
		} else if s.Last.Reason != "" {
			text += ": " + s.Last.Reason
		}
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// webhooksAddCmd adds a webhook.
type webhooksAddCmd struct {
	ID       string   `arg:"" help:"1 to 128 letters, digits and . - _"`
	URL      string   `arg:"" name:"url" help:"Where events are sent, as https://ops.example.com/hook."`
	Sets     []string `placeholder:"NAME,..." help:"Only events of these sets."`
	Fences   []string `placeholder:"ID,..." help:"Only events of fences with these ids."`
	Events   []string `placeholder:"KIND,..." help:"Only these kinds of events, as enter,exit."`
	Fleets   []string `placeholder:"NAME,..." help:"Only events of objects of these fleets."`
	Objects  string   `placeholder:"PATTERN" help:"Only events of objects whose ids match, as bus-*."`
	Rules    []string `placeholder:"ID,..." help:"Only events of these rules."`
	Format   string   `placeholder:"FORMAT" complete:"cloudevents,cloudevents-batch,tile38,slack" help:"cloudevents, cloudevents-batch, tile38 or slack (default cloudevents)."`
	MaxBatch int      `name:"max-batch" placeholder:"N" help:"Events in one request of cloudevents-batch (default 100)."`
	Header   []string `sep:"none" placeholder:"NAME: VALUE" help:"A further header of each request; may be repeated."`
	Secret   string   `placeholder:"SECRET" help:"What signs requests, whsec_ and base64 (default a new one, which is printed); none signs nothing, - reads it from standard input."`
	Replace  bool     `help:"Replace a webhook of this id."`
	remote
}

// Run adds the webhook, and prints its secret if it is a new one.
func (k *webhooksAddCmd) Run(ctx context.Context, c *Console) error {
	document := map[string]any{"url": k.URL}
	for name, list := range map[string][]string{"sets": k.Sets, "fences": k.Fences, "events": k.Events, "fleets": k.Fleets, "rules": k.Rules} {
		if len(list) > 0 {
			document[name] = list
		}
	}
	if k.Objects != "" {
		document["objects"] = k.Objects
	}
	if k.Format != "" {
		document["format"] = k.Format
	}
	if k.MaxBatch != 0 {
		document["max_batch"] = k.MaxBatch
	}
	headers := map[string]string{}
	for _, h := range k.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return usagef("--header %q: want NAME: VALUE", h)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if len(headers) > 0 {
		document["headers"] = headers
	}
	secret, fresh, err := k.secret(c)
	if err != nil {
		return err
	}
	if secret != "" {
		document["secrets"] = []string{secret}
	}
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	condition := http.Header{}
	if !k.Replace {
		condition.Set("If-None-Match", "*")
	}
	var shown hooks.Shown
	if err := k.ask(ctx, &shown, http.MethodPut, webhookPath(k.ID), condition, body); err != nil {
		return err
	}
	for _, w := range shown.Warnings {
		fmt.Fprintf(c.Stderr, "warning: %s\n", plain(w))
	}
	if fresh {
		fmt.Fprintf(c.Stdout, "The secret of %s, which is not shown again: %s\n", k.ID, secret)
	}
	return nil
}

// secret returns the secret of the webhook, and whether it is a new one.
func (k *webhooksAddCmd) secret(c *Console) (secret string, fresh bool, err error) {
	switch {
	case k.Secret == "none", k.Secret == "" && k.Format == webhook.Slack:
		return "", false, nil
	case k.Secret == "":
		return webhook.NewSecret(), true, nil
	case k.Secret == "-":
		line, err := bufio.NewReader(c.Stdin).ReadString('\n')
		if line = strings.TrimSpace(line); line == "" {
			return "", false, errors.Join(errors.New("no secret on standard input"), err)
		}
		return line, false, nil
	}
	return k.Secret, false, nil
}

// webhooksRmCmd removes a webhook.
type webhooksRmCmd struct {
	ID string `arg:"" help:"The webhook."`
	remote
}

// Run removes it.
func (k *webhooksRmCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodDelete, webhookPath(k.ID), nil, nil)
}

// webhooksRetryCmd ends a pause.
type webhooksRetryCmd struct {
	ID string `arg:"" help:"The webhook."`
	remote
}

// Run ends the pause.
func (k *webhooksRetryCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodPost, webhookPath(k.ID, "retry"), nil, nil)
}

// webhooksEnableCmd enables a webhook.
type webhooksEnableCmd struct {
	ID string `arg:"" help:"The webhook."`
	remote
}

// Run enables it.
func (k *webhooksEnableCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodPost, webhookPath(k.ID, "enable"), nil, nil)
}

// webhooksDisableCmd disables a webhook.
type webhooksDisableCmd struct {
	ID string `arg:"" help:"The webhook."`
	remote
}

// Run disables it.
func (k *webhooksDisableCmd) Run(ctx context.Context) error {
	return k.ask(ctx, nil, http.MethodPost, webhookPath(k.ID, "disable"), nil, nil)
}

// webhooksDeadCmd lists dead letters.
type webhooksDeadCmd struct {
	ID   string `arg:"" help:"The webhook."`
	JSON bool   `name:"json" help:"Print an array of objects."`
	remote
}

// Run prints a line for each dead letter.
func (k *webhooksDeadCmd) Run(ctx context.Context, c *Console) error {
	all, err := deadLetters(ctx, &k.remote, k.ID)
	if err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(all)
	}
	table := newTable(c.Stdout, "CURSOR", "EVENT", "LAST ATTEMPT", "ATTEMPTS", "REASON")
	for _, l := range all {
		table.row(l.Cursor, l.Event, timeText(l.At), strconv.Itoa(l.Tries), l.Reason)
	}
	return table.flush()
}

// deadLetters returns the dead letters of a webhook.
func deadLetters(ctx context.Context, r *remote, id string) ([]deliver.Letter, error) {
	all := []deliver.Letter{}
	for after := ""; ; {
		var list hooks.Letters
		if err := r.ask(ctx, &list, http.MethodGet, webhookPath(id, "deadletters")+"?limit=1000&after="+url.QueryEscape(after), nil, nil); err != nil {
			return nil, err
		}
		all = append(all, list.Letters...)
		if after = list.Next; after == "" {
			return all, nil
		}
	}
}

// webhooksReplayCmd delivers events again.
type webhooksReplayCmd struct {
	ID     string `arg:"" help:"The webhook."`
	From   string `xor:"what" required:"" placeholder:"TIME" help:"The events from this time on, as 2026-01-31T15:04:05Z."`
	Cursor string `xor:"what" required:"" placeholder:"CURSOR" help:"The events behind this cursor."`
	Letter string `xor:"what" required:"" placeholder:"CURSOR" help:"The dead letter with this cursor."`
	Dead   bool   `xor:"what" required:"" help:"All dead letters."`
	remote
}

// Help describes what is replayed.
func (*webhooksReplayCmd) Help() string {
	return `Events up to where the webhook is come again, with the header paddock-replay: 1, in turn with new events. A dead letter that is delivered is no dead letter any more.`
}

// Run asks for the replay, which goes on behind it.
func (k *webhooksReplayCmd) Run(ctx context.Context, c *Console) error {
	switch {
	case k.Dead:
		all, err := deadLetters(ctx, &k.remote, k.ID)
		if err != nil {
			return err
		}
		for _, l := range all {
			if err := k.letter(ctx, l.Cursor); err != nil {
				return err
			}
		}
		fmt.Fprintf(c.Stdout, "%d dead letters are delivered again\n", len(all))
		return nil
	case k.Letter != "":
		return k.letter(ctx, k.Letter)
	}
	body := map[string]string{"cursor": k.Cursor}
	if k.From != "" {
		if _, err := time.Parse(time.RFC3339, k.From); err != nil {
			return usagef("--from %s: not a time of RFC 3339 such as 2026-01-31T15:04:05Z", k.From)
		}
		body = map[string]string{"from": k.From}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return k.ask(ctx, nil, http.MethodPost, webhookPath(k.ID, "replay"), nil, text)
}

func (k *webhooksReplayCmd) letter(ctx context.Context, cursor string) error {
	return k.ask(ctx, nil, http.MethodPost, webhookPath(k.ID, "deadletters", cursor, "replay"), nil, nil)
}
