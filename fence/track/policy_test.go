package track_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
)

func TestPresets(t *testing.T) {
	const ttl = 15 * time.Minute
	for name, want := range map[string]track.Policy{
		"raw": {},
		"steady": {
			Fixes: 3, Metres: 25, Sure: 100, AccuracyFactor: 1, MaxAccuracy: 100, MaxSpeed: 100, TTL: ttl, Initial: track.InitialEnter,
		},
		"accuracy":     {Fixes: 1, AccuracyFactor: 1, TTL: ttl, Initial: track.InitialEnter},
		"dwell:5m":     {EnterAfter: 5 * time.Minute, ExitAfter: 5 * time.Minute, TTL: ttl, Initial: track.InitialEnter},
		"dwell:1h0.5s": {EnterAfter: time.Hour + 500*time.Millisecond, ExitAfter: time.Hour + 500*time.Millisecond, TTL: ttl, Initial: track.InitialEnter},
	} {
		if got, err := track.ParsePolicy(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestPolicyInJSON(t *testing.T) {
	for text, want := range map[string]track.Policy{
		`"raw"`: {},
		`{}`:    {},
		`{"ttl":"90s","preset":"accuracy"}`: {
			Fixes: 1, AccuracyFactor: 1, TTL: 90 * time.Second, Initial: track.InitialEnter,
		},
		`{"fixes":2,"metres":7.5,"sure":50,"accuracy_factor":0.5,"max_accuracy":80,"enter_after":"1m","exit_after":"2m",
		  "max_speed":70,"max_gap":"5m","late":"reorder:2s","initial":"inside"}`: {
			Fixes: 2, Metres: 7.5, Sure: 50, AccuracyFactor: 0.5, MaxAccuracy: 80, EnterAfter: time.Minute, ExitAfter: 2 * time.Minute,
			MaxSpeed: 70, MaxGap: 5 * time.Minute, Late: track.LateReorder, Reorder: 2 * time.Second, Initial: track.InitialInside,
		},
		`{"late":"history"}`: {Late: track.LateHistory},
	} {
		var got track.Policy
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		written, err := json.Marshal(got)
		var again track.Policy
		if err == nil {
			err = json.Unmarshal(written, &again)
		}
		got.Fixes = max(got.Fixes, 1)
		if err != nil || again != got {
			t.Errorf("%s comes back as %+v, %v", written, again, err)
		}
	}
}

// Errors name the field, the value and the way out, and leave the policy as it was.
func TestPolicyErrors(t *testing.T) {
	for text, want := range map[string]string{
		`7`:                      "a policy is the name of a preset",
		`"stedy"`:                `unknown preset "stedy": use one of raw, steady, accuracy, dwell:DURATION`,
		`"dwell:5"`:              `preset "dwell:5": "5" is not a duration`,
		`{"preset":"x"}`:         `unknown preset "x"`,
		`{"metre":7}`:            `unknown field "metre": use one of preset, fixes, metres,`,
		`{"fixes":0}`:            `fixes: "0" is not a whole number from 1 to 100`,
		`{"metres":-1}`:          `metres: "-1" is not a number from 0 to 100000`,
		`{"metres":"NaN"}`:       `metres: "NaN" is not a number`,
		`{"metres":null}`:        `metres: <nil> is neither a number nor a text`,
		`{"sure":[1]}`:           `sure: [ is neither a number nor a text`,
		`{"ttl":15}`:             `ttl: "15" is not a duration from 0s to 8784h0m0s in whole milliseconds, such as 90s or 5m`,
		`{"ttl":"1us"}`:          `ttl: "1us" is not a duration`,
		`{"late":"later"}`:       `late: "later" is not drop, history or reorder:DURATION`,
		`{"late":"reorder:0s"}`:  `late: a duration of 0: use drop`,
		`{"late":"reorder:2m"}`:  `late: "2m" is not a duration from 0s to 1m0s`,
		`{"initial":"maybe"}`:    `initial: unknown initial "maybe"`,
		`{"fixes":2,"fixes":3}`:  `fixes: the field is there twice`,
		`{"max_gap":"5m","x":1}`: `unknown field "x"`,
	} {
		p := track.Policy{Metres: 3}
		err := json.Unmarshal([]byte(text), &p)
		if err == nil || !strings.Contains(err.Error(), want) || p != (track.Policy{Metres: 3}) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Each field of a file is set by its name.
func TestPolicyFields(t *testing.T) {
	written, err := json.Marshal(track.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(written, &fields); err != nil {
		t.Fatal(err)
	}
	names := track.PolicyFields()
	if len(names) != len(fields)+1 || names[0] != "preset" {
		t.Errorf("fields %v, written are %v", names, fields)
	}
	for name := range fields {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no field", name)
		}
	}
	var p track.Policy
	for _, f := range [][2]string{{"preset", "steady"}, {"metres", "12.5"}, {"ttl", "0s"}} {
		if err := p.Set(f[0], f[1]); err != nil {
			t.Error(err)
		}
	}
	if p.Fixes != 3 || p.Metres != 12.5 || p.TTL != 0 {
		t.Errorf("%+v", p)
	}
}
