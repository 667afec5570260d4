package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/internal/platform/doors"
)

// now reads the counters.
func (f *Facts) now() Counts { return f.Count() }

// Count reads the counters of the platform.
func (f *Facts) Count() Counts {
	t, b := f.Pipeline.Metrics.Totals(), f.Bus.Stats()
	_, past := f.Events.Subscribers()
	c := Counts{
		At: time.Now(), Accepted: t.Accepted, Late: t.Late, Rejected: t.Rejected + t.Full + t.Overloaded,
		SlowClients: b.SlowConsumers, FellBehind: past.FellBehind, Cut: past.Cut,
	}
	if f.Overloads != nil {
		c.Overloads = f.Overloads()
	}
	return c
}

// many is the share of rejected positions that is a problem.
const many = 0.1

func (f *Facts) rejected() Result {
	var items []Item
	since := time.Now().Add(-Recently)
	reasons := map[string]int{}
	for _, d := range f.Doors.All() {
		for i := range d.Last {
			r := &d.Last[i]
			if r.At.Before(since) {
				break // the newest is the first
			}
			class := cmp.Or(r.Field, "body")
			if reasons[d.Name+" "+class]++; reasons[d.Name+" "+class] > 1 {
				continue
			}
			items = append(items, Item{Door: d.Name, Object: r.Object, Text: fmt.Sprintf("%s (%d rejected since the start)", r.Reason, d.Rejected)})
		}
	}
	past := f.Trend.Recent(f.now())
	if len(items) == 0 && past.Rejected == 0 {
		return ok("no position was rejected in the last %v", minutes(Recently))
	}
	text := fmt.Sprintf("%s rejected in the last %v, and %d accepted", were(past.Rejected, "position"), minutes(Recently), past.Accepted)
	advice := "correct what the devices send: each example names the field; GET /v1/doors has the inputs. Positions that found no room are the sign of an overload or a full disk"
	status := Warning
	if float64(past.Rejected) > many*float64(past.Accepted+past.Rejected) {
		status = Problem
	}
	return Judge(status, text, advice, items...)
}

func (f *Facts) deviceClocks() Result {
	var items []Item
	ahead := 0
	since := time.Now().Add(-Recently)
	f.Doors.Clocks(func(door string, clocks []doors.Clock) {
		for _, c := range clocks {
			if c.Last.Before(since) {
				continue
			}
			side, n := "behind", c.Behind
			if c.By > 0 {
				side, n = "ahead", c.Ahead
				ahead++
			}
			items = append(items, Item{
				Door: door, Fleet: c.Fleet, Object: c.Object,
				Text: fmt.Sprintf("%s of the fleet %s is %s %s (positions of the fleet since the start: %d)", c.Object, c.Fleet, span(c.By.Abs()), side, n),
			})
		}
	})
	if len(items) == 0 {
		return ok("no position of the last %v was more than %v ahead of its arrival, or %v behind", minutes(Recently), doors.ClockAhead, doors.ClockBehind)
	}
	if ahead == 0 {
		return warning("positions come far behind their time", "let the devices set their clocks by NTP or by GPS; nothing is wrong if they were offline and deliver what they kept", items...)
	}
	return warning("clocks of devices are ahead", "let the devices set their clocks by NTP or by GPS; leave out t, and the time of arrival counts; positions beyond track.max_ahead are rejected", items...)
}

// stays are the durations of dwell that are advised.
var stays = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute}

// calm returns the policy that would have stopped the changes: with dwell a change has to last
// longer than the longest time between two of them.
func (f *Facts) calm(one *Flapping) string {
	dwell := stays[len(stays)-1]
	for _, d := range stays {
		if d > one.Longest {
			dwell = d
			break
		}
	}
	text := "dwell:" + strings.TrimSuffix(dwell.String(), "0s")
	if p := f.Policy(one.Set); p != nil && p.Fixes <= 1 && p.Metres == 0 && p.AccuracyFactor == 0 && p.EnterAfter == 0 && p.ExitAfter == 0 {
		return "steady, against the errors of a receiver; or " + text
	}
	return text
}

func (f *Facts) flapping() Result {
	all, overlooked := f.Flaps.List(time.Now())
	if len(all) == 0 {
		return ok("no object entered and left a fence twice in %v", minutes(FlapWindow))
	}
	var items []Item
	for i := range all[:min(len(all), MaxItems)] {
		one := &all[i]
		times := fmt.Sprint(one.Changes)
		if one.More {
			times += " or more"
		}
		policy := f.calm(one)
		items = append(items, Item{
			Set: one.Set, Fence: one.Fence, Fleet: one.Fleet, Object: one.Object,
			Text:   fmt.Sprintf("%s entered or left %s of %s %s times in %v, the last time at %s", one.Object, one.Fence, one.Set, times, minutes(FlapWindow), one.Last.Format(time.TimeOnly)),
			Advice: fmt.Sprintf("the policy %s would stop it: PUT /v1/sets/%s/policy", policy, one.Set),
		})
	}
	first := &all[0]
	r := warning(fmt.Sprintf("%s in and out of the same fence again and again", isAre(len(all), "object goes", "objects go")),
		fmt.Sprintf("give the set %s the policy %s; a margin or a larger fence helps too. paddock rules test --policy shows the effect on recorded positions", first.Set, f.calm(first)), items...)
	r.Omitted = len(all) - len(items)
	if overlooked > 0 {
		r.Text += fmt.Sprintf(" (%d more found no room in the list)", overlooked)
	}
	return r
}

func (f *Facts) fences() Result {
	var items []Item
	sets, fences, found, refused := 0, 0, 0, 0
	for s := range f.Catalog.All() {
		snap := s.Snapshot()
		sets, fences = sets+1, fences+snap.Len()
		for i, finding := range snap.Findings() {
			if found++; finding.Fatal {
				refused++
			}
			if i < MaxItems {
				items = append(items, Item{Set: s.Name(), Fence: finding.Key, ID: finding.File, Text: finding.Reason})
			}
		}
	}
	if found == 0 {
		return ok("%d fences of %d sets, without findings", fences, sets)
	}
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(a.Set, b.Set) })
	text := fmt.Sprintf("%d findings about the shapes of %d fences in %d sets", found, fences, sets)
	if refused > 0 {
		text += fmt.Sprintf("; %d shapes were refused, and are in no set", refused)
	}
	r := warning(text, "correct the shapes, or make them valid with a tool such as ogr2ogr -makevalid; GET /v1/sets/SET?findings=1 has all of them", items...)
	r.Omitted = found - len(items)
	return r
}

func (f *Facts) setFiles() Result {
	if f.SetFiles == nil {
		return Skip("there is no directory of sets")
	}
	s := f.SetFiles()
	var items []Item
	if s.Err != nil {
		items = append(items, Item{Text: s.Err.Error()})
	}
	for _, file := range s.Sources {
		if file.Err != nil {
			items = append(items, Item{ID: file.File, Set: file.Set, Text: file.Err.Error()})
		}
	}
	switch missing := s.Missing(); {
	case len(missing) > 0:
		return problem(fmt.Sprintf("%s not served since the start: %s", were(uint64(len(missing)), "file"), strings.Join(missing[:min(len(missing), MaxItems)], ", ")),
			"correct the files: they are read again by themselves, or on SIGHUP; until then /readyz answers 503", items...)
	case len(items) > 0:
		return problem(fmt.Sprintf("%s not served in the present state", were(uint64(len(items)), "file")), "correct the files: they are read again by themselves, or on SIGHUP; until then their earlier fences hold", items...)
	}
	return ok("%d files, all served", len(s.Sources))
}

// minutes writes a duration without seconds.
func minutes(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) }

// span writes a duration for people.
func span(d time.Duration) string {
	if d > 48*time.Hour {
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
	return d.Round(time.Second).String()
}

func were(n uint64, of string) string {
	if n == 1 {
		return "1 " + of + " was"
	}
	return fmt.Sprintf("%d %ss were", n, of)
}

func isAre(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
