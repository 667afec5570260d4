package clientscheck

import (
	"fmt"
	"io"
	"strings"
)

// cell is the result of one client's program.
type cell string

const (
	same      cell = "same"
	different cell = "DIFFERS"   // ours is not like nats-server
	stale     cell = "STALE"     // nats-server is not like its golden file
	explained cell = "explained" // ours is not, for a reason that is kept with what it prints
	absent    cell = "-"         // the client has no such program
)

// table is clients by scenarios, in Markdown.
type table struct {
	clients []Client
	rows    []string
	cells   int
	bad     int
	row     []string
}

func newTable(clients []Client) *table { return &table{clients: clients} }

// add is called for all clients of a scenario, then for the next.
func (t *table) add(s Scenario, client Client, c cell) {
	if client.Name == t.clients[0].Name {
		t.row = []string{"`" + s.Name + "`", s.About}
	}
	t.row = append(t.row, string(c))
	if c != absent {
		t.cells++
	}
	if c == different || c == stale {
		t.bad++
	}
	if len(t.row) == len(t.clients)+2 {
		t.rows = append(t.rows, line(t.row))
	}
}

func (t *table) write(w io.Writer) {
	head := []string{"scenario", "what"}
	for _, c := range t.clients {
		head = append(head, c.Name)
	}
	fmt.Fprintf(w, "\n%s\n|%s\n%s\n", line(head), strings.Repeat("---|", len(head)), strings.Join(t.rows, "\n"))
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

// difference returns the lines of both texts with - for those only in want and
// + for those only in got, by their longest common subsequence.
func difference(want, got string) []string {
	a, b := strings.Split(strings.TrimSuffix(want, "\n"), "\n"), strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	return lines
}
