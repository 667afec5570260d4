package doors

import (
	"fmt"
	"io"
)

// Setup is what each measurement of platforms needs. The tags are of the flags of `paddock bench`.
type Setup struct {
	Dir      string    `type:"path" placeholder:"DIR" help:"Directory on the disk to measure, for temporary files (default the user's cache directory, as the system's temporary one may be in memory)."`
	Sets     string    `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each (default the simulated city)."`
	Program  string    `kong:"-"` // that has the command up
	Progress io.Writer `kong:"-"`
}

// Say writes a line of progress.
func (s *Setup) Say(format string, args ...any) { fmt.Fprintf(s.Progress, format+"\n", args...) }
