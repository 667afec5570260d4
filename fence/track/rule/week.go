package rule

import (
	"fmt"
	"slices"
	"strings"
)

// week is the windows of a week, in minutes since the beginning of Monday. They are sorted, neither
// overlap nor touch, and lie within the week, so a window over its end is two. nil is all of the
// week.
type week []window

type window struct{ from, to int }

// maxWindows bounds the windows of one day.
const maxWindows = 48

// newWeek joins windows, which may overlap and reach beyond the end of the week.
func newWeek(windows []window) week {
	var cut []window
	for _, w := range windows {
		if cut = append(cut, window{w.from, min(w.to, wholeWeek)}); w.to > wholeWeek {
			cut = append(cut, window{0, w.to - wholeWeek})
		}
	}
	slices.SortFunc(cut, func(a, b window) int { return a.from - b.from })
	joined := week{}
	for _, w := range cut {
		if last := len(joined) - 1; last >= 0 && w.from <= joined[last].to {
			joined[last].to = max(joined[last].to, w.to)
			continue
		}
		joined = append(joined, w)
	}
	if len(joined) == 1 && joined[0] == (window{0, wholeWeek}) {
		return nil
	}
	return joined
}

// constant reports whether the week is open, or closed, all the time.
func (w week) constant() bool { return len(w) == 0 }

// after returns the index of the first window that ends after the second.
func (w week) after(second int) int {
	i, found := slices.BinarySearchFunc(w, second, func(o window, s int) int { return o.to*60 - s })
	if found {
		i++
	}
	return i
}

// open reports whether the week is open in this second.
func (w week) open(second int) bool {
	if w == nil {
		return true
	}
	i := w.after(second)
	return i < len(w) && w[i].from*60 <= second
}

// until returns the number of seconds from second to the next change of the week, which is not
// constant, on an even clock. open is whether it is open at second.
func (w week) until(second int, open bool) int {
	i := w.after(second)
	if !open {
		if i < len(w) {
			return w[i].from*60 - second
		}
		return w[0].from*60 + weekSeconds - second
	}
	end := w[i].to
	if end == wholeWeek && w[0].from == 0 { // it goes on next week
		end += w[0].to
	}
	return end*60 - second
}

var dayNames = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// parseDays reads a key of a week.
func parseDays(key string) (days []int, err error) {
	for part := range strings.SplitSeq(key, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, to := slices.Index(dayNames, first), slices.Index(dayNames, last)
		if from < 0 || to < 0 {
			return nil, fmt.Errorf("%.64q is no day: write mon, or mon-fri, or mon,wed", key)
		}
		for d := from; ; d = (d + 1) % len(dayNames) {
			if days = append(days, d); d == to {
				break
			}
		}
	}
	return days, nil
}

// parseWindow reads a window of a day, such as 22:00-06:00.
func parseWindow(s string) (window, error) {
	fault := fmt.Errorf("%.64q is no window: write 07:00-18:00; 24:00 is the end of the day", s)
	first, last, ok := strings.Cut(s, "-")
	from, ok1 := parseClock(first)
	to, ok2 := parseClock(last)
	switch {
	case !ok || !ok1 || !ok2 || from == day:
		return window{}, fault
	case from == to:
		return window{}, fmt.Errorf("%q is empty: all of the day is 00:00-24:00", s)
	case to < from:
		to += day
	}
	return window{from, to}, nil
}

// parseClock reads a time such as 07:00.
func parseClock(s string) (minute int, ok bool) {
	if len(s) != 5 || s[2] != ':' {
		return 0, false
	}
	for _, i := range []int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	hour, minute := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	return hour*60 + minute, minute < 60 && hour*60+minute <= day
}

func (w window) String() string {
	to := w.to
	if to > day {
		to -= day
	}
	return fmt.Sprintf("%02d:%02d-%02d:%02d", w.from/60, w.from%60, to/60, to%60)
}

// byDay returns the windows that begin on each day, in minutes of that day. A window over midnight
// of less than a day stays whole; a longer one is cut at each midnight.
func (w week) byDay() (days [7][]window) {
	whole := slices.Clone(w)
	if last := len(whole) - 1; last > 0 && whole[last].to == wholeWeek && whole[0].from == 0 {
		whole[last].to += whole[0].to
		whole = whole[1:]
	}
	for _, o := range whole {
		short := o.to-o.from < day
		for from := o.from; from < o.to; {
			d := from / day
			to := min(o.to, (d+1)*day)
			if short {
				to = o.to
			}
			days[d%7] = append(days[d%7], window{from - d*day, to - d*day})
			from = to
		}
	}
	for d := range days { // the rest of a long window of the day before comes last
		slices.SortFunc(days[d], func(a, b window) int { return a.from - b.from })
	}
	return days
}
