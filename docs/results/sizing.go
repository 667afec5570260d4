package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The figures of docs/start/sizing.md stand between these two lines.
const (
	sizingFile  = "sizing.json"
	sizingPage  = "docs/start/sizing.md"
	sizingBegin = "<!-- make sizing: begin -->\n"
	sizingEnd   = "<!-- make sizing: end -->\n"
)

// sizingRun is the file of `paddock bench sizing --summary`.
type sizingRun struct {
	run
	Subject    string  `json:"subject"`
	FileSystem string  `json:"file_system"`
	Busy       float64 `json:"load_average_before"`
	Load       string  `json:"load"`
	Sets       struct {
		Fences     int   `json:"fences"`
		Edges      int   `json:"edges"`
		IndexBytes int64 `json:"index_bytes"`
	} `json:"sets"`
	Cells []sizingCell `json:"cells"`
	Days  []sizingDay  `json:"stored"`
}

// sizingCell is one load.
type sizingCell struct {
	Vehicles    int     `json:"vehicles"`
	Every       float64 `json:"every_s"`
	Door        string  `json:"door"`
	Subscribers int     `json:"subscribers"`
	Asked       float64 `json:"asked_per_s"`
	Reached     float64 `json:"reached_per_s"`
	Events      float64 `json:"events_per_s"`
	CPU         float64 `json:"processors"`
	Each        float64 `json:"us_per_position"`
	Resident    int64   `json:"resident_bytes"`
	Written     float64 `json:"written_bytes_per_s"`
	P99         float64 `json:"ack_p99_us"`
}

// sizingDay is the files of a day.
type sizingDay struct {
	Vehicles  int     `json:"vehicles"`
	Every     float64 `json:"every_s"`
	Positions int64   `json:"positions"`
	Events    int64   `json:"events"`
	Bytes     int64   `json:"bytes"`
	History   float64 `json:"history_bytes_per_position"`
	PerEvent  float64 `json:"bytes_per_event"`
}

// fast is the number of positions a second from which the cost of each is told: below it the cost
// of the process itself is the larger part.
const fast = 1000

// sizing returns the figures of the page as Markdown.
func sizing(dir fs.FS) (string, error) {
	text, err := fs.ReadFile(dir, sizingFile)
	if err != nil {
		return "", err
	}
	r := new(sizingRun)
	if err := json.Unmarshal(text, r); err != nil {
		return "", fmt.Errorf("%s: %w", sizingFile, err)
	}
	if len(r.Cells) == 0 || len(r.Days) == 0 {
		return "", errors.New(sizingFile + " has no loads, or no days")
	}
	var b strings.Builder
	r.rules(&b)
	r.loads(&b)
	r.subscribers(&b)
	r.disk(&b)
	m := r.Machine
	fmt.Fprintf(&b, "Measured by `%s`, %s: %s, %d cores, Linux %s, %s; %s; %s; loads of %s. The load ran on the same machine; its load average before was %.1f. %s.\n",
		strings.Join(r.Command, " "), r.Date.Format(time.DateOnly), m.CPU, m.Cores, m.Kernel, m.Go, r.FileSystem, r.Subject, r.Duration, r.Busy, r.Load)
	if r.Busy > float64(m.Cores)/4 {
		b.WriteString("\n**Others used the machine during this run:** times are longer and reached rates lower than on an idle one.\n")
	}
	return b.String(), nil
}

func (c *sizingCell) held() bool { return c.Reached >= 0.98*c.Asked }

// rules writes the rules of thumb.
func (r *sizingRun) rules(b *strings.Builder) {
	b.WriteString("| for | take |\n|---|---|\n")
	for _, door := range r.doors() {
		if us := r.each(door); us > 0 {
			fmt.Fprintf(b, "| 1,000 positions a second by %s | %.3f processors (%.1f µs each) |\n", doorName(door), us/1000, us)
		}
	}
	small, large := r.memory(false), r.memory(true)
	fmt.Fprintf(b, "| the process with %s fences of %s edges, and %s vehicles | %s of memory, %s of it the index |\n",
		count(r.Sets.Fences), count(r.Sets.Edges), count(small.Vehicles), size(float64(small.Resident)), size(float64(r.Sets.IndexBytes)))
	if n := large.Vehicles - small.Vehicles; n > 0 {
		fmt.Fprintf(b, "| each further vehicle | %.0f bytes of memory |\n", float64(large.Resident-small.Resident)/float64(n))
	}
	for _, d := range r.Days {
		fmt.Fprintf(b, "| a vehicle with a position each %s | %s of history a day |\n", seconds(d.Every), size(d.History*float64(d.Positions)/float64(d.Vehicles)))
	}
	fmt.Fprintf(b, "| an event | %.0f bytes on disk for `journal.keep`, before compression |\n\n", r.Days[0].PerEvent)
}

// each returns the median of the processor time of a position in the loads that were held, in
// microseconds; 0 without one.
func (r *sizingRun) each(door string) float64 {
	var all []float64
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Door == door && c.Subscribers == 0 && c.Asked >= fast && c.held() {
			all = append(all, c.Each)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (r *sizingRun) doors() (all []string) {
	for i := range r.Cells {
		if d := r.Cells[i].Door; !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// memory returns the load with the most memory of the smallest or the largest fleet.
func (r *sizingRun) memory(largest bool) (found sizingCell) {
	for _, c := range r.Cells {
		other := found.Vehicles == 0 || c.Vehicles < found.Vehicles
		if largest {
			other = c.Vehicles > found.Vehicles
		}
		if other || c.Vehicles == found.Vehicles && c.Resident > found.Resident {
			found = c
		}
	}
	return found
}

// loads writes the table of loads without subscribers.
func (r *sizingRun) loads(b *strings.Builder) {
	b.WriteString("| vehicles | a position each | by | positions/s | processors | memory | written to disk | acknowledged, p99 |\n|---|---|---|---|---|---|---|---|\n")
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Subscribers > 0 {
			continue
		}
		rate := number(c.Asked)
		late := figureOf(c.P99)
		if !c.held() {
			rate, late = fmt.Sprintf("%s asked for, %s reached", rate, number(c.Reached)), "-"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.2f | %s | %s/s | %s |\n", count(c.Vehicles), seconds(c.Every), doorName(c.Door), rate, c.CPU, size(float64(c.Resident)), size(c.Written), late)
	}
	b.WriteString("\n")
}

// subscribers writes the table of loads with subscribers, and that without.
func (r *sizingRun) subscribers(b *strings.Builder) {
	var with []sizingCell
	for _, c := range r.Cells {
		if c.Subscribers > 0 {
			with = append(with, c)
		}
	}
	if len(with) == 0 {
		return
	}
	for _, c := range r.Cells {
		if f := with[0]; c.Subscribers == 0 && c.Vehicles == f.Vehicles && c.Every == f.Every && c.Door == f.Door {
			with = slices.Insert(with, 0, c)
			break
		}
	}
	b.WriteString("| subscribers to all events | vehicles | positions/s | events/s to each | processors | memory |\n|---|---|---|---|---|---|\n")
	for i := range with {
		c := &with[i]
		fmt.Fprintf(b, "| %d | %s | %s | %s | %.2f | %s |\n", c.Subscribers, count(c.Vehicles), number(c.Reached), number(c.Events), c.CPU, size(float64(c.Resident)))
	}
	b.WriteString("\n")
}

// disk writes what fleets of the measured sizes keep.
func (r *sizingRun) disk(b *strings.Builder) {
	b.WriteString("| vehicles | a position each | history of a day | of 30 days (`history.keep`) | events of 7 days (`journal.keep`) |\n|---|---|---|---|---|\n")
	met := map[int]bool{}
	for _, c := range r.Cells {
		if met[c.Vehicles] {
			continue
		}
		met[c.Vehicles] = true
		for _, d := range r.Days {
			each := float64(c.Vehicles) / float64(d.Vehicles)
			history := d.History * float64(d.Positions) * each
			events := float64(d.Events) * d.PerEvent * 7 * each
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", count(c.Vehicles), seconds(d.Every), size(history), size(30*history), size(events))
		}
	}
	var events []string
	for _, d := range r.Days {
		events = append(events, fmt.Sprintf("%s events a day with a position each %s", number(float64(d.Events)/float64(d.Vehicles)), seconds(d.Every)))
	}
	fmt.Fprintf(b, "\nA vehicle here moves 10 m from one position to the next, and caused %s. Yours will cause others: multiply.\n\n", strings.Join(events, ", and "))
}

func doorName(door string) string {
	if door == "http" {
		return "HTTP, one a request"
	}
	return "wire, in batches"
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'g', -1, 64) + " s" }

func count(n int) string { return number(float64(n)) }

// number marks the thousands of a number.
func number(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
	s := strconv.FormatFloat(f, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes bytes with two digits or more, in powers of 1000.
func size(f float64) string {
	unit := "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if f < 999.5 {
			break
		}
		f, unit = f/1000, next
	}
	if f < 9.95 {
		return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
	}
	return strconv.FormatFloat(f, 'f', 0, 64) + " " + unit
}

// figureOf writes a time in microseconds as milliseconds.
func figureOf(us float64) string { return strconv.FormatFloat(us/1000, 'f', 1, 64) + " ms" }
