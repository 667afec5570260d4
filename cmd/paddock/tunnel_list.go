package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/internal/tunneld"
)

// tunnelListCmd shows the sessions of a server.
type tunnelListCmd struct {
	JSON bool `name:"json" help:"Print an array of objects."`
	tunnelOperator
}

// Run prints a line for each client.
func (t *tunnelListCmd) Run(ctx context.Context, c *console) error {
	return t.operate(ctx, func(ctx context.Context, o *tunneld.Operator) error {
		sessions, err := o.Sessions(ctx)
		if err != nil {
			return err
		}
		if t.JSON {
			return c.printJSON(append([]tunneld.SessionLine{}, sessions...))
		}
		return printSessions(c.Stdout, sessions)
	})
}

// shownID is the length of an id in a table. Kick accepts such a prefix.
const shownID = 12

func printSessions(w io.Writer, sessions []tunneld.SessionLine) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tADDRESS\tAGE\tRTT\tIN FLIGHT\tSTREAMS\tDIRECT\tIN\tOUT\tNAMES")
	for i := range sessions {
		s := &sessions[i]
		names := strings.Join(shownNames(s), " ")
		if more := s.NamesAll - len(s.Names); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		id := s.ID
		if len(id) > shownID && !strings.HasPrefix(id, "token:") {
			id = id[:shownID]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", id, s.Name, s.Address,
			(time.Duration(s.AgeMs) * time.Millisecond).Round(time.Second), time.Duration(s.RTTUs)*time.Microsecond,
			s.InFlight, s.Streams, s.Direct, bytesText(s.BytesIn), bytesText(s.BytesOut), names)
	}
	return table.Flush()
}

// shownNames returns a client's names, with the groups that share them.
func shownNames(s *tunneld.SessionLine) []string {
	shown := slices.Clone(s.Names)
	for i, name := range shown {
		for _, g := range s.Groups {
			if g.At == name {
				shown[i] = fmt.Sprintf("%s (%s, %d of %d)", name, g.Group, g.Here, g.Members)
			}
		}
	}
	return shown
}

// bytesText formats a number of bytes with a unit and one decimal.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n), -1
	for ; value >= unit; prefix++ {
		value /= unit
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[prefix])
}
