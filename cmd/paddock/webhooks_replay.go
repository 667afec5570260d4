package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
)

// webhooksDeadCmd lists dead letters.
type webhooksDeadCmd struct {
	ID   string `arg:"" help:"The webhook."`
	JSON bool   `name:"json" help:"Print an array of objects."`
	remote
}

// Run prints a line for each dead letter.
func (k *webhooksDeadCmd) Run(ctx context.Context, c *console) error {
	all, err := deadLetters(ctx, &k.remote, k.ID)
	if err != nil {
		return err
	}
	if k.JSON {
		return c.printJSON(all)
	}
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CURSOR\tEVENT\tLAST ATTEMPT\tATTEMPTS\tREASON")
	for _, l := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", l.Cursor, l.Event, timeText(l.At), l.Tries, l.Reason)
	}
	return table.Flush()
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
func (k *webhooksReplayCmd) Run(ctx context.Context, c *console) error {
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
