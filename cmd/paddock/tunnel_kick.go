package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"paddock/internal/tunneld"
)

// tunnelKickCmd sends a client away.
type tunnelKickCmd struct {
	Who  string        `arg:"" name:"id" help:"Its name, its id, or the first 8 characters or more of its id."`
	For  time.Duration `placeholder:"TIME" default:"60s" help:"Keep it out for so long (default ${default}); 0s lets it come back at once."`
	JSON bool          `name:"json" help:"Print an object with name and connected."`
	tunnelOperator
}

// Run prints whom it has sent away.
func (t *tunnelKickCmd) Run(ctx context.Context, c *console) error {
	return t.operate(ctx, func(ctx context.Context, o *tunneld.Operator) error {
		k, err := o.Kick(ctx, t.Who, t.For)
		switch {
		case err != nil:
			return err
		case t.JSON:
			return json.NewEncoder(c.Stdout).Encode(k)
		case k.Connected:
			fmt.Fprintf(c.Stdout, "%s was sent away, and is kept out for %v\n", k.Name, t.For)
		default:
			fmt.Fprintf(c.Stdout, "%s was not connected; it is kept out for %v\n", k.Name, t.For)
		}
		return nil
	})
}
