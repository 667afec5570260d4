package geojson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"paddock/fence/internal/setting"
)

// SettingPrefix begins the names of the properties that are settings of a fence.
const SettingPrefix = "paddock:"

// Settings are what the properties with SettingPrefix say about one fence. Fields of a policy take
// the place of those of its set.
type Settings struct {
	Given Given // the fields that the properties have

	Fixes                                     int
	Metres, Sure, AccuracyFactor, MaxAccuracy float64
	EnterAfter, ExitAfter                     time.Duration
	AltitudeInside                            bool // a fix without an altitude is between Floor and Ceiling

	Floor, Ceiling float64   // metres; -Inf and +Inf if they are not given
	Expires        time.Time // the end of the fence; zero: never
}

// Given is a set of settings.
type Given uint16

// The settings.
const (
	GivenFixes Given = 1 << iota
	GivenMetres
	GivenSure
	GivenAccuracyFactor
	GivenMaxAccuracy
	GivenEnterAfter
	GivenExitAfter
	GivenAltitude
	GivenFloor
	GivenCeiling
	GivenExpires

	// GivenPolicy are the settings that take the place of fields of a policy.
	GivenPolicy = GivenFloor - 1
)

// Has reports whether one of the settings is given.
func (s *Settings) Has(g Given) bool { return s.Given&g != 0 }

// Bounded reports whether the fence has a floor or a ceiling.
func (s *Settings) Bounded() bool { return s.Has(GivenFloor | GivenCeiling) }

// Between reports whether an altitude is from the floor on and below the ceiling.
func (s *Settings) Between(altitude float64) bool { return altitude >= s.Floor && altitude < s.Ceiling }

// SamePolicy reports whether two fences have the same settings in place of fields of a policy. nil
// is a fence without settings.
func (s *Settings) SamePolicy(o *Settings) bool { return s.policy() == o.policy() }

// SameHeight reports whether two fences have the same floor and ceiling.
func (s *Settings) SameHeight(o *Settings) bool {
	if s == nil {
		s = &noSettings
	}
	if o == nil {
		o = &noSettings
	}
	return s.Floor == o.Floor && s.Ceiling == o.Ceiling
}

// Ended reports whether the fence has expired.
func (s *Settings) Ended(now time.Time) bool {
	return s != nil && !s.Expires.IsZero() && !now.Before(s.Expires)
}

// policy returns the fields of a policy alone.
func (s *Settings) policy() Settings {
	if s == nil {
		return Settings{}
	}
	p := *s
	p.Given &= GivenPolicy
	p.Floor, p.Ceiling, p.Expires = 0, 0, time.Time{}
	return p
}

// noSettings has the values of what is not given.
var noSettings = Settings{Floor: math.Inf(-1), Ceiling: math.Inf(1)}

// settingField reads one setting from its text.
type settingField struct {
	name  string
	given Given
	set   func(s *Settings, text string) error
}

var settingFields = []settingField{
	{"fixes", GivenFixes, func(s *Settings, text string) (err error) {
		s.Fixes, err = setting.Fixes(text)
		return err
	}},
	numberSetting("metres", GivenMetres, setting.MaxMetres, func(s *Settings) *float64 { return &s.Metres }),
	numberSetting("sure", GivenSure, setting.MaxMetres, func(s *Settings) *float64 { return &s.Sure }),
	numberSetting("accuracy_factor", GivenAccuracyFactor, setting.MaxFactor, func(s *Settings) *float64 { return &s.AccuracyFactor }),
	numberSetting("max_accuracy", GivenMaxAccuracy, setting.MaxMetres, func(s *Settings) *float64 { return &s.MaxAccuracy }),
	durationSetting("enter_after", GivenEnterAfter, func(s *Settings) *time.Duration { return &s.EnterAfter }),
	durationSetting("exit_after", GivenExitAfter, func(s *Settings) *time.Duration { return &s.ExitAfter }),
	{"altitude", GivenAltitude, func(s *Settings, text string) (err error) {
		s.AltitudeInside, err = setting.NoAltitude(text)
		return err
	}},
	{"floor", GivenFloor, func(s *Settings, text string) (err error) {
		s.Floor, err = setting.Altitude(text)
		return err
	}},
	{"ceiling", GivenCeiling, func(s *Settings, text string) (err error) {
		s.Ceiling, err = setting.Altitude(text)
		return err
	}},
	{"expires", GivenExpires, func(s *Settings, text string) (err error) {
		if s.Expires, err = time.Parse(time.RFC3339, text); err != nil {
			err = fmt.Errorf("%.64q is not a time such as 2026-03-12T11:16:45Z", text)
		}
		return err
	}},
}

func numberSetting(name string, g Given, most float64, of func(*Settings) *float64) settingField {
	return settingField{name, g, func(s *Settings, text string) (err error) {
		*of(s), err = setting.Number(text, most)
		return err
	}}
}

func durationSetting(name string, g Given, of func(*Settings) *time.Duration) settingField {
	return settingField{name, g, func(s *Settings, text string) (err error) {
		*of(s), err = setting.Duration(text, setting.MaxAfter)
		return err
	}}
}

// SettingNames lists the settings of fences, without SettingPrefix and without that of corridors.
func SettingNames() []string {
	names := make([]string, len(settingFields))
	for i := range settingFields {
		names[i] = settingFields[i].name
	}
	return names
}

// readSettings reads the settings among properties; nil if there are none. One with an invalid
// value is left out, and told.
func readSettings(properties []byte) (*Settings, []Finding) {
	if !bytes.Contains(properties, []byte(`"`+SettingPrefix)) || !json.Valid(properties) {
		return nil, nil
	}
	s := noSettings
	var wrong []Finding
	note := func(name string, err error) {
		wrong = append(wrong, Finding{Feature: -1, Code: CodeInvalidSetting, Reason: SettingPrefix + name + ": " + err.Error()})
	}
	for _, m := range lastMembers(properties) {
		name, isSetting := strings.CutPrefix(m.name, SettingPrefix)
		if !isSetting || m.name == BufferProperty || string(m.value) == "null" {
			continue
		}
		if err := s.read(name, m.value); err != nil {
			note(name, err)
		}
	}
	if s.Has(GivenCeiling) && s.Ceiling <= s.Floor {
		note("ceiling", fmt.Errorf("%v is not above the floor of %v", s.Ceiling, s.Floor))
		s.Given, s.Ceiling = s.Given&^GivenCeiling, noSettings.Ceiling
	}
	if s.Given == 0 {
		return nil, wrong
	}
	return &s, wrong
}

// read reads one setting.
func (s *Settings) read(name string, value []byte) error {
	var text string
	switch shape(value) {
	case "a string":
		text = string(unquote(value))
	case "a number":
		text = string(value)
	default:
		return fmt.Errorf("it is %s, not a number or a text", shape(value))
	}
	for i := range settingFields {
		if f := &settingFields[i]; f.name == name {
			next := *s
			err := f.set(&next, text)
			if err == nil {
				*s = next
				s.Given |= f.given
			}
			return err
		}
	}
	return fmt.Errorf("no such setting: use one of %s", strings.Join(SettingNames(), ", "))
}

// member is a member of a JSON object.
type member struct {
	name  string
	value []byte
}

// lastMembers returns the members of an object with distinct names in their order. Of those with
// one name it is the last.
func lastMembers(object []byte) (all []member) {
	at := map[string]int{}
	for name, value := range members(object) {
		i, twice := at[string(name)]
		if !twice {
			i = len(all)
			at[string(name)], all = i, append(all, member{name: string(name)})
		}
		all[i].value = value
	}
	return all
}

// Settings returns the settings of the fence, nil if its properties have none. They are immutable.
func (f *Fence) Settings() *Settings {
	if f.measured != nil {
		return f.measured.settings
	}
	s, _ := readSettings(f.Properties)
	return s
}

// expired tells that the fence has ended.
func (f *Fence) expired(at time.Time) error {
	return skipped(f.Key, CodeExpired, SettingPrefix+"expires: it ended at "+at.Format(time.RFC3339))
}

// checkSettings tells the settings that are left out.
func (f *Fence) checkSettings() []Finding {
	_, wrong := readSettings(f.Properties)
	return wrong
}
