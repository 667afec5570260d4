package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"paddock/internal/platform/journal"
)

func (f *Facts) version() Result {
	if f.Journal == nil {
		return ok("%s, nothing is kept", f.Version)
	}
	return ok("%s, journal of format %d", f.Version, journal.Format)
}

// soonFull is the time below which a disk is warned of.
const soonFull = 7 * 24 * time.Hour

func (f *Facts) disk() Result {
	if f.Journal == nil {
		return Skip("nothing is kept: there is no data directory")
	}
	advice := "make room on the disk of " + f.Data + ", or keep less: journal.keep, journal.max_bytes, history.keep, history.max_bytes"
	used, bytes, err := f.Journal.Usage()
	free := int64(bytes)
	if err != nil {
		return warning(fmt.Sprintf("the free space of %s is not known: %v", f.Data, err), "look at the disk with df, and at its mount options")
	}
	text := fmt.Sprintf("the journal has %s, and %s are free on its disk", size(int64(used)), size(free))
	if reason := f.Pipeline.Refusing(); reason != "" {
		return problem(text+"; positions are refused: "+reason, advice+"; positions are accepted again by themselves")
	}
	left, over, known := f.Trend.left(time.Now(), free, f.MinFree)
	if known {
		text += fmt.Sprintf("; at the rate of the last %.0f hours that lasts %.0f days", over.Hours(), left.Hours()/24)
	}
	switch {
	case free < 2*f.MinFree:
		return warning(text+fmt.Sprintf("; below %s positions are refused", size(f.MinFree)), advice)
	case known && left < soonFull:
		return warning(text, advice)
	}
	return ok("%s", text)
}

const (
	probes     = 16 // writes of a probe
	probeBytes = 4096
	// fewSyncs is the number of measured writes below which a probe is made in their place.
	fewSyncs = 4

	slowP50, slowP99       = 20 * time.Millisecond, 200 * time.Millisecond
	verySlowP50, verySlow9 = 100 * time.Millisecond, time.Second
)

func (f *Facts) fsync() Result {
	if f.Journal == nil {
		return Skip("nothing is kept: there is no data directory")
	}
	times, text := f.Syncs.all(), "of the last %d records of the journal: p50 %v, p99 %v"
	if len(times) < fewSyncs {
		probed, err := probe(f.Data)
		if err != nil {
			return problem(fmt.Sprintf("%s cannot be written: %v", f.Data, err), "look at the rights of the directory and at its disk: mount, dmesg, smartctl")
		}
		times, text = probed, "of %d writes that were tried: p50 %v, p99 %v"
	}
	p50, p99 := quantiles(times)
	text = fmt.Sprintf("time until a write was on disk, "+text, len(times), p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond))
	advice := "put the data directory on a local SSD with a write cache that survives a loss of power, and not on a network disk; journal.durability: 100ms acknowledges before the write"
	switch {
	case p50 >= verySlowP50 || p99 >= verySlow9:
		return problem(text, advice)
	case p50 >= slowP50 || p99 >= slowP99:
		return warning(text, advice)
	}
	return ok("%s", text)
}

// probe measures a few writes that wait for the disk, in a file of its own. It ends early if they
// take half of a check's time.
func probe(dir string) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(filepath.Clean(f.Name()))) }()
	block := make([]byte, probeBytes)
	for begun := time.Now(); len(times) < probes && time.Since(begun) < Limit/2; {
		at := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(at))
	}
	return times, nil
}

// quantiles returns p50 and p99 of times, of which there is one at least.
func quantiles(times []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(times)
	return times[len(times)/2], times[len(times)*99/100]
}
