package responder

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// laws is how each of them is written, for errors and help.
const laws = "want at once, delay TIME, queue N/s [frozen TIME every TIME], or drawn SHARE=TIME SHARE=TIME ..."

// Parse reads a law:
//
//	at once
//	delay 5ms
//	queue 10000/s
//	queue 10000/s frozen 1s every 10s
//	drawn 0=1ms 0.5=2ms 0.99=50ms 1=1s
//
// Of a drawn one the same seed gives the same times.
func Parse(text string, seed uint64) (Law, error) {
	fields := strings.Fields(text)
	fail := func(err error) (Law, error) { return nil, fmt.Errorf("law %q: %w", text, err) }
	if len(fields) < 2 {
		return fail(fmt.Errorf("%s", laws))
	}
	var law Law
	var err error
	switch rest := fields[1:]; fields[0] {
	case "at":
		law = AtOnce{}
		if len(rest) != 1 || rest[0] != "once" {
			err = fmt.Errorf("%s", laws)
		}
	case "delay":
		law, err = parseDelay(rest)
	case "queue":
		law, err = parseQueue(rest)
	case "drawn":
		law, err = parseDrawn(rest, seed)
	default:
		err = fmt.Errorf("%s", laws)
	}
	if err != nil {
		return fail(err)
	}
	return law, nil
}

func parseDelay(fields []string) (Law, error) {
	if len(fields) != 1 {
		return nil, fmt.Errorf("%s", laws)
	}
	d, err := parseTime(fields[0])
	return Delay(d), err
}

func parseQueue(fields []string) (Law, error) {
	rate, ok := strings.CutSuffix(fields[0], "/s")
	per, err := strconv.ParseFloat(rate, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("speed %q: want N/s", fields[0])
	}
	q := &Queue{PerSecond: per}
	switch rest := fields[1:]; {
	case len(rest) == 4 && rest[0] == "frozen" && rest[2] == "every":
		if q.Frozen, err = parseTime(rest[1]); err != nil {
			return nil, err
		}
		if q.Every, err = parseTime(rest[3]); err != nil {
			return nil, err
		}
	case len(rest) > 0:
		return nil, fmt.Errorf("%s", laws)
	}
	return q, q.check()
}

func parseDrawn(fields []string, seed uint64) (Law, error) {
	var points []Point
	for _, f := range fields {
		share, at, _ := strings.Cut(f, "=")
		s, err := strconv.ParseFloat(share, 64)
		if err != nil || !(s >= 0 && s <= 1) {
			return nil, fmt.Errorf("point %q: want SHARE=TIME with a share from 0 to 1", f)
		}
		d, err := parseTime(at)
		if err != nil {
			return nil, fmt.Errorf("point %q: %w", f, err)
		}
		points = append(points, Point{s, d})
	}
	return NewDrawn(seed, points...)
}

// maxTime is the longest time of a law: the range of histograms.
const maxTime = time.Hour

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxTime {
		return 0, fmt.Errorf("time %q: want one such as 250us, 5ms or 1s, of %v at most", text, maxTime)
	}
	return d, nil
}
