package history

import (
	"cmp"
	"slices"

	"paddock/fence/track"
)

// Fix is one position of an object, as it was given.
type Fix struct {
	Time, Arrived            track.Millis
	Lon, Lat                 float64
	Speed, Heading, Accuracy track.Measure
	Props                    string // JSON; "": none
}

// fixOf returns the fix of a position.
func fixOf(p *track.Position) Fix {
	return Fix{
		Time: p.Time, Arrived: p.Arrived, Lon: p.Lon, Lat: p.Lat,
		Speed: p.Speed, Heading: p.Heading, Accuracy: p.Accuracy, Props: string(p.Props),
	}
}

// ordered sorts fixes by time. Of those with the same time it keeps the first.
func ordered(fixes []Fix) []Fix {
	byTime := func(a, b Fix) int { return cmp.Compare(a.Time, b.Time) }
	if !slices.IsSortedFunc(fixes, byTime) {
		slices.SortStableFunc(fixes, byTime)
	}
	return slices.CompactFunc(fixes, func(a, b Fix) bool { return a.Time == b.Time })
}

// hour is the length of a block, and day that of the unit by which blocks are removed.
const (
	hour = track.Millis(3_600_000)
	day  = 24 * hour
)

// dayOf returns the number of the day of an instant, counted from 1970, in UTC.
func dayOf(t track.Millis) int64 { return floor(t, day) }

// hourOf returns the hour of an instant in its day.
func hourOf(t track.Millis) int { return int(floor(t, hour) - 24*floor(t, day)) }

func floor(t, unit track.Millis) int64 {
	n := t / unit
	if t%unit < 0 {
		n--
	}
	return int64(n)
}
