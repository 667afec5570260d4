package cli

import (
	"context"

	"paddock/lab/internal/scenario"
)

// pressureCmd makes go-http-tunnel's constant pressure. docs/guides/bench-tunnel.md is
// its guide.
type pressureCmd struct {
	replayURL
	replayFlags `embed:""`
}

// Help says what the columns are.
func (*pressureCmd) Help() string {
	return `Twenty minutes, or --duration, at each of 300, 400 and 500 requests a second, which are due whether or not others have been answered. The report is that of "paddock bench spike".

` + replayExit + `

    paddock bench pressure http://127.0.0.1:8000/ --corpus -H "Host: app.example" -d 2m`
}

// Run makes the load and prints its report.
func (b *pressureCmd) Run(ctx context.Context, c *Console) error {
	return b.replay(ctx, c, &scenario.Pressure, b.replayFlags)
}
