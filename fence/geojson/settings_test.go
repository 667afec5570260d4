package geojson_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/fence/geojson"
)

func feature(properties string) []byte {
	return []byte(`{"type":"Feature","id":"a","properties":` + properties +
		`,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}`)
}

// A fence with a setting that has no valid value is taken without that setting.
func TestInvalidSettings(t *testing.T) {
	for properties, want := range map[string]string{
		`{"paddock:metres":"x"}`:                     `paddock:metres: "x" is not a number from 0 to 100000`,
		`{"paddock:metres":-1}`:                      `paddock:metres: "-1" is not a number from 0 to 100000`,
		`{"paddock:metres":[5]}`:                     `paddock:metres: it is an array, not a number or a text`,
		`{"paddock:fixes":1.5}`:                      `paddock:fixes: "1.5" is not a whole number from 1 to 100`,
		`{"paddock:enter_after":5}`:                  `paddock:enter_after: "5" is not a duration from 0s to 720h0m0s in whole milliseconds, such as 90s or 5m`,
		`{"paddock:altitude":"above"}`:               `paddock:altitude: "above" is neither ignore nor inside`,
		`{"paddock:floor":1e6}`:                      `paddock:floor: "1e6" is not a number of metres from -100000 to 100000`,
		`{"paddock:ceiling":5,"paddock:floor":5}`:    `paddock:ceiling: 5 is not above the floor of 5`,
		`{"paddock:metre":5}`:                        `paddock:metre: no such setting: use one of fixes, metres, sure`,
		`{"paddock:metres":1,"paddock:metres":true}`: `paddock:metres: it is a boolean, not a number or a text`,
	} {
		f, findings, err := geojson.ParseFeature(feature(properties), geojson.ReadOptions{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", properties, err)
			continue
		}
		if len(findings) != 1 || findings[0].Code != geojson.CodeInvalidSetting || findings[0].Key != "a" || findings[0].Fatal ||
			!strings.HasPrefix(findings[0].Reason, want) {
			t.Errorf("%s: %v\nwant %s", properties, findings, want)
		}
		if again, err := f.Check(false); err != nil || !slices.Equal(again, []geojson.Finding{{Feature: -1, Code: findings[0].Code, Reason: findings[0].Reason}}) {
			t.Errorf("%s: checked again: %v, %v", properties, again, err)
		}
		if s := f.Settings(); s != nil && s.Has(geojson.GivenMetres|geojson.GivenCeiling) {
			t.Errorf("%s: settings %+v", properties, s)
		}
	}
}

// A fence that has ended by the time of the reader is skipped, and no other.
func TestExpiredFences(t *testing.T) {
	now := time.Date(2026, 3, 12, 11, 0, 0, 0, time.UTC)
	o := geojson.ReadOptions{Now: func() time.Time { return now }}
	for expires, ended := range map[string]bool{
		"2026-03-12T10:59:59Z": true, "2026-03-12T11:00:00Z": true, "2026-03-12T11:00:00.001Z": false, "2026-03-12T11:30:00+01:00": true,
	} {
		doc := feature(`{"paddock:expires":"` + expires + `"}`)
		f, _, err := geojson.ParseFeature(doc, o)
		e, refused := errors.AsType[*geojson.RefusedError](err)
		if refused != ended || refused && (e.Finding.Code != geojson.CodeExpired || e.Finding.Fatal || e.Finding.Key != "a") {
			t.Errorf("%s: %v", expires, err)
		}
		if !ended && f.Settings().Expires.IsZero() {
			t.Errorf("%s: never", expires)
		}
		if _, _, err := geojson.ParseFeature(doc, geojson.ReadOptions{}); err != nil {
			t.Errorf("%s without a clock: %v", expires, err)
		}
		c, err := geojson.ReadGeoJSON(bytes.NewReader(doc), "f", o)
		if err != nil || len(c.Fences) == 1 == ended || ended && (c.Skipped != 1 || c.Findings[0].Reason != "paddock:expires: it ended at "+expires) {
			t.Errorf("%s: %+v, %v", expires, c, err)
		}
	}
	_, findings, err := geojson.ParseFeature(feature(`{"paddock:expires":"tomorrow"}`), o)
	if err != nil || len(findings) != 1 || findings[0].Reason != `paddock:expires: "tomorrow" is not a time such as 2026-03-12T11:16:45Z` {
		t.Errorf("%v, %v", findings, err)
	}
}

func TestSettings(t *testing.T) {
	f, findings, err := geojson.ParseFeature(feature(`{"name":"A","paddock:metres":"12.5","paddock:fixes":2,"paddock:exit_after":"1m30s",
		"paddock:buffer":5,"paddock:sure":null,"paddock:floor":-10,"paddock:ceiling":20}`), geojson.ReadOptions{})
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	s := f.Settings()
	if s.Metres != 12.5 || s.Fixes != 2 || s.ExitAfter.Seconds() != 90 || s.Floor != -10 || s.Ceiling != 20 ||
		s.Given != geojson.GivenMetres|geojson.GivenFixes|geojson.GivenExitAfter|geojson.GivenFloor|geojson.GivenCeiling {
		t.Errorf("%+v", s)
	}
	for altitude, want := range map[float64]bool{-10.5: false, -10: true, 19.9: true, 20: false} {
		if s.Between(altitude) != want {
			t.Errorf("between at %v: %v", altitude, !want)
		}
	}
	if f, _, _ := geojson.ParseFeature(feature(`{"paddock":1,"paddocked:metres":2}`), geojson.ReadOptions{}); f.Settings() != nil {
		t.Errorf("settings of other properties: %+v", f.Settings())
	}
}
