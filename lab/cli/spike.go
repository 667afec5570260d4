package cli

import (
	"context"

	"paddock/lab/internal/scenario"
)

// spikeCmd makes go-http-tunnel's load spike. docs/guides/bench-tunnel.md is its guide.
type spikeCmd struct {
	replayURL
	replayFlags `embed:""`
}

// Help says what the columns are.
func (*spikeCmd) Help() string {
	return `Two minutes at each of 600, 800, 900 and 1000 requests a second, which are due whether or not others have been answered. The report has the original's columns, its figures beside them, and the p99 that users see.

` + replayExit + `

    paddock bench spike http://127.0.0.1:8000/ --corpus -H "Host: app.example"
    paddock bench spike http://127.0.0.1:8000/ --rate 6000,8000 -d 30s --slo "p99<5ms,err<=0"`
}

// Run makes the load and prints its report.
func (b *spikeCmd) Run(ctx context.Context, c *Console) error {
	return b.replay(ctx, c, &scenario.Spike, b.replayFlags)
}
