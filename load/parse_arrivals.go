package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseArrivals reads stages, with a comma between them, in the form in which String
// writes them:
//
//	1000/s                         at equal distances
//	poisson 1000/s                 of independent users
//	100..1000/s over 30s           a ramp
//	burst 50 every 1s              many at once
//	1000/s for 10s, 2000/s         all but a ramp take "for" where another follows
//
// A number alone is per second, and /m, /h are per minute and per hour. An error names the stage
// and the mistake. seed determines the random arrivals.
func ParseArrivals(text string, seed uint64) (Arrivals, error) {
	var stages Stages
	for i, part := range strings.Split(text, ",") {
		stage, err := parseStage(strings.Fields(part), seed+uint64(i))
		if err != nil {
			return nil, fmt.Errorf("stage %d, %q: %w", i+1, strings.TrimSpace(part), err)
		}
		if i > 0 && stages[i-1].Length() == 0 {
			return nil, fmt.Errorf("stage %d, %q: it never ends, but another follows: say for how long, as in %q",
				i, stages[i-1], stages[i-1].String()+" for 10s")
		}
		stages = append(stages, stage)
	}
	if len(stages) == 1 {
		return stages[0], nil
	}
	return stages, nil
}

// parseStage reads one stage: its words by twos, but for a law that has a name.
func parseStage(words []string, seed uint64) (Arrivals, error) {
	if len(words) == 0 {
		return nil, errors.New("a rate is missing, such as 1000/s")
	}
	switch words[0] {
	case "poisson":
		if len(words) < 2 {
			return nil, errors.New("a rate is missing, as in poisson 1000/s")
		}
		rate, err := parseRate(words[1])
		if err != nil {
			return nil, err
		}
		length, err := parseLength(words[2:], "for", true)
		return Poisson{rate, length, seed}, err
	case "burst":
		return parseBurst(words)
	}
	if from, to, ramp := strings.Cut(words[0], ".."); ramp {
		return parseRamp(from, to, words[1:])
	}
	rate, err := parseRate(words[0])
	if err != nil {
		return nil, err
	}
	length, err := parseLength(words[1:], "for", true)
	return Constant{rate, length}, err
}

func parseBurst(words []string) (Arrivals, error) {
	if len(words) < 4 || words[2] != "every" {
		return nil, errors.New("the form is: burst 50 every 1s")
	}
	size, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil || size < 1 {
		return nil, fmt.Errorf("%q is not a number of requests", words[1])
	}
	every, err := parseLength(words[2:4], "every", false)
	if err != nil {
		return nil, err
	}
	length, err := parseLength(words[4:], "for", true)
	return Burst{size, every, length}, err
}

func parseRamp(from, to string, words []string) (Arrivals, error) {
	end, err := parseRate(to)
	if err != nil {
		return nil, err
	}
	unit := "" // the first rate has that of the second
	if i := strings.IndexByte(to, '/'); i >= 0 && !strings.Contains(from, "/") {
		unit = to[i:]
	}
	begin := 0.0
	if from != "0" {
		if begin, err = parseRate(from + unit); err != nil {
			return nil, err
		}
	}
	length, err := parseLength(words, "over", false)
	return Ramp{begin, end, length}, err
}

// parseRate reads a rate above 0, per second.
func parseRate(text string) (float64, error) {
	number, unit, found := strings.Cut(text, "/")
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if !found {
		per = 1
	}
	n, err := strconv.ParseFloat(number, 64)
	switch {
	case per == 0:
		return 0, fmt.Errorf("%q is no rate: it is per /s, /m or /h", text)
	case err != nil || math.IsNaN(n) || n <= 0 || n > 1e9:
		return 0, fmt.Errorf("%q is no rate: a number above 0 and up to 1000000000, as in 1000/s", text)
	}
	return n / per, nil
}

// parseLength reads a time behind a word; 0 if there is none and none is needed.
func parseLength(words []string, word string, optional bool) (time.Duration, error) {
	if len(words) == 0 && optional {
		return 0, nil
	}
	if len(words) != 2 || words[0] != word {
		return 0, fmt.Errorf("%q: the form is: %s 10s", strings.Join(words, " "), word)
	}
	d, err := time.ParseDuration(words[1])
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time above 0, such as 10s", words[1])
	}
	return d, nil
}
