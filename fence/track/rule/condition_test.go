package rule_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"paddock/fence/track/rule"
)

// input makes an input of the properties of an object and a fence. Without measures the device
// reports none.
func input(object, fence string, measures ...rule.Measure) *rule.Input {
	in := &rule.Input{Object: properties(object), Fence: properties(fence)}
	for i, to := range []*rule.Measure{&in.Speed, &in.Heading, &in.Accuracy} {
		if i < len(measures) {
			*to = measures[i]
		}
	}
	return in
}

func properties(text string) *rule.Properties {
	if text == "" {
		return nil
	}
	p := &rule.Properties{}
	p.Read(json.RawMessage(text), nil)
	return p
}

func known(f float32) rule.Measure { return rule.Measure{Value: f, Known: true} }

const (
	bus    = `{"kind":"bus","line":7,"loaded":true,"empty":false,"tags":["a"],"gone":null,"max speed":50,"route":"n"}`
	school = `{"maxspeed":8.33,"zone":"school","open":true,"route":"n","tags":{"a":1}}`
)

// TestConditions holds what conditions mean; each row is asked of a bus that drives 13.9 m/s to the
// north-west, in a school zone.
func TestConditions(t *testing.T) {
	in := input(bus, school, known(13.9), known(315), known(5))
	for text, want := range map[string]bool{
		`speed > fence.maxspeed`:            true,
		`speed >= 13.9`:                     true,
		`speed == 13.9`:                     true,
		`speed != 13.9`:                     false,
		`speed_kmh > 50`:                    true,
		`speed_mph < 31.2`:                  true,
		`speed_mph > 31`:                    true,
		`speed_knots > 27`:                  true,
		`heading >= 337.5 or heading < 2.5`: false,
		`heading > 270 and heading < 360`:   true,
		`accuracy <= 5`:                     true,
		`13 < speed`:                        true,
		`14 <= speed`:                       false,

		`object.kind == "bus"`:          true,
		`object.kind == 'bus'`:          true,
		`object.kind != "bus"`:          false,
		`"bus" == object.kind`:          true,
		`object.kind > "a"`:             true,
		`object.kind < "a"`:             false,
		`object["max speed"] == 50`:     true,
		`object.line == 7.0`:            true,
		`object.line == -7`:             false,
		`object.loaded`:                 true,
		`not object.loaded`:             false,
		`object.empty`:                  false,
		`!object.empty`:                 true,
		`object.loaded == true`:         true,
		`object.empty == false`:         true,
		`object.loaded != fence.open`:   false,
		`object.route == fence.route`:   true,
		`object.line > fence.maxspeed`:  false,
		`object.line <= fence.maxspeed`: true,

		// Missing properties differ from each value.
		`fence.owner == "x"`:              false,
		`fence.owner != "x"`:              true,
		`not fence.owner == "x"`:          true,
		`object.gone != 1`:                true,
		`object.owner`:                    false,
		`not object.owner`:                true,
		`object.owner == fence.zone`:      false,
		`object.owner != fence.zone`:      true,
		`object.owner == null`:            true,
		`object.gone == null`:             true,
		`null != object.kind`:             true,
		`object.owner == fence.owner`:     false, // unknown
		`object.owner != fence.owner`:     false,
		`not object.owner == fence.owner`: false,
		`object.owner > 3`:                false,
		`not object.owner > 3`:            false,

		// Values of other types differ, and have no order.
		`object.kind == 7`:          false,
		`object.kind != 7`:          true,
		`object.line == "7"`:        false,
		`object.kind > 7`:           false,
		`not object.kind > 7`:       false,
		`object.kind`:               false,
		`not object.kind`:           true,
		`object.tags == "a"`:        false,
		`object.tags != "a"`:        true,
		`object.tags == fence.tags`: false,
		`object.tags != fence.tags`: false,
		`object.tags == null`:       false,

		// Precedence.
		`speed > 99 and speed > 99 or speed > 1`:   true,
		`speed > 99 and (speed > 99 or speed > 1)`: false,
		`not speed > 99 and speed > 1`:             true,
		`not (speed > 99 or speed > 1)`:            false,
		`!(speed>99)&&speed>1||speed<0`:            true,
		`not not speed > 1`:                        true,
	} {
		c, err := rule.ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Holds(in); got != want {
			t.Errorf("%s: %v", text, got)
		}
		again, err := rule.ParseCondition(c.String())
		if err != nil || again.Holds(in) != want || again.String() != c.String() {
			t.Errorf("%s as %s: %v", text, c, err)
		}
	}
}

// TestUnknown holds that an unreported measure is neither this nor that, and how it joins others.
func TestUnknown(t *testing.T) {
	for _, in := range []*rule.Input{
		input(bus, school),
		input(bus, school, rule.Measure{Known: true, Value: float32(math.NaN())}),
	} {
		for text, want := range map[string]bool{
			`speed > 5`:                            false,
			`speed <= 5`:                           false,
			`not speed > 5`:                        false,
			`speed == 5`:                           false,
			`speed != 5`:                           false,
			`speed == null`:                        true,
			`speed != null`:                        false,
			`speed > object.line or object.loaded`: true,
			`speed > 5 and object.loaded`:          false,
			`not (speed > 5 and object.empty)`:     true,
			`not (speed > 5 or object.empty)`:      false,
			`speed == object.owner`:                false,
			`speed != object.owner`:                false,
			`speed == heading`:                     false,
			`speed == null or speed < 5`:           true,
		} {
			c, err := rule.ParseCondition(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := c.Holds(in); got != want {
				t.Errorf("%s: %v", text, got)
			}
		}
	}
	var none *rule.Condition
	if !none.Holds(&rule.Input{}) {
		t.Error("no condition does not hold")
	}
}

// TestConditionErrors holds that each error has its column, and the way out.
func TestConditionErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                          `column 1: the end, but expected a number, a text, speed, heading, accuracy, object. or fence.`,
		`speed >`:                   `column 8: the end, but expected a number, a text, speed, heading, accuracy, object. or fence.`,
		`speed`:                     `column 1: speed alone is no condition: compare it, as in speed > 13.9`,
		`1 and 2`:                   `column 1: 1 alone is no condition: compare it, as in speed > 13.9`,
		`speed = 3`:                 `column 7: = is no operator; did you mean ==?`,
		`speed > 3 & speed < 5`:     `column 11: & is no operator; did you mean &&?`,
		`speed > 3 * 2`:             `column 11: *: there is no arithmetic in conditions`,
		`speed > 5-3`:               `column 9: 5-3 is no number: a number is written as 13, 13.9, -5 or 1e3`,
		`speed > 5kmh`:              `column 9: 5kmh is no number: a number is written as 13, 13.9, -5 or 1e3`,
		`speed > 1e999`:             `column 9: 1e999 is no number: a number is written as 13, 13.9, -5 or 1e3`,
		`1 < speed < 5`:             `column 11: a comparison has two sides: write a < b and b < c`,
		`"é" == object.ü and spede`: `column 21: spede is no name; did you mean speed?; a text has quotes, a property is written as object.spede or fence.spede`,
		`object.kind == bus`:        `column 16: bus is no name; there are accuracy, heading, speed, speed_kmh, speed_knots, speed_mph, object, fence; a text has quotes, a property is written as object.bus or fence.bus`,
		`object == 3`:               `column 8: ==, but expected the name of a property: .NAME or ["NAME"]`,
		`object. == 3`:              `column 9: ==, but expected a name of letters, digits and _`,
		`object[3] == 3`:            `column 8: 3, but expected a name in quotes`,
		`object["a" == 3`:           `column 12: ==, but expected ]`,
		`(speed > 3`:                `column 11: the end, but expected and, or, or )`,
		`speed > 3)`:                `column 10: ), but expected and, or, or the end`,
		`speed > 3 speed < 5`:       `column 11: speed, but expected and, or, or the end`,
		`and speed > 3`:             `column 1: and, but expected a number, a text, speed, heading, accuracy, object. or fence.`,
		`speed > "fast"`:            `column 7: speed is a number, "fast" is a text: they cannot be compared`,
		`"fast" < speed`:            `column 8: "fast" is a text, speed is a number: they cannot be compared`,
		`speed == true`:             `column 7: speed is a number, true is true or false: they cannot be compared`,
		`object.a > true`:           `column 10: true and false have no order: use == or !=, not >`,
		`object.a > null`:           `column 10: null has no order: use == or !=, not >`,
		`1 < 2`:                     `column 3: both sides are constants`,
		`object.a == "x`:            `column 13: the text has no end: " is missing`,
		`object.a == "\x"`:          `column 13: the text has an escape or a control character that JSON does not know`,
		`object.a == #`:             `column 13: '#' is not understood here`,
		"\xff":                      `not valid UTF-8`,
		strings.Repeat("(", 40) + "speed > 1" + strings.Repeat(")", 40): `column 33: nested deeper than 32`,
		strings.Repeat("not ", 40) + "speed > 1":                        `column 129: nested deeper than 32`,
		strings.Repeat("x", 5000):                                       `5000 bytes, the limit is 4096`,
	} {
		if c, err := rule.ParseCondition(text); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v, %v\nwant %s", text, c, err, want)
		}
	}
}

// TestConditionText holds the canonical form.
func TestConditionText(t *testing.T) {
	for text, want := range map[string]string{
		`a`: ``,
		`((speed>1.50))||(!((object['k']=="a\"b")))`:          `speed > 1.5 or not object.k == "a\"b"`,
		`speed>1 && (speed>2 && speed>3)`:                     `speed > 1 and speed > 2 and speed > 3`,
		`(speed>1 or speed>2) and speed>3`:                    `(speed > 1 or speed > 2) and speed > 3`,
		`not (speed>1 and speed>2)`:                           `not (speed > 1 and speed > 2)`,
		`object["a b"] >= 1 and object["1"] and fence["ä_1"]`: `object["a b"] >= 1 and object["1"] and fence.ä_1`,
		`null==speed and 1>=speed and object.x!=null`:         `speed == null and 1 >= speed and object.x != null`,
		`object.x == true and object.y != true`:               `object.x and object.y != true`,
		`object.x == -0 or object.x == 1e3`:                   `object.x == 0 or object.x == 1000`,
		`object.a == 'it\'s "it"'`:                            `object.a == "it's \"it\""`,
		`object.not == object.object`:                         `object.not == object.object`,
	} {
		c, err := rule.ParseCondition(text)
		if want == "" && err != nil {
			continue
		}
		if err != nil || c.String() != want {
			t.Errorf("%s:\n got %v, %v\nwant %s", text, c, err, want)
		}
	}
}

// TestProperties holds how properties are read, of valid and of broken JSON.
func TestProperties(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1}`:                                true,
		` { "x" : [1,{"a":2},"}]"] , "a" : 1 } `: true,
		`{"a":2,"a":1}`:                          true,
		`{"a":1,"a":2}`:                          false,
		`{"\u0061":1}`:                           true,
		`{"b":"\"","a":1}`:                       true,
		`{"a":1e0}`:                              true,
		`{"a":"1"}`:                              false,
		`{"a":1`:                                 true, // up to the error
		`{"a":`:                                  false,
		`{"a"`:                                   false,
		`{"b":[1,"a":1}`:                         false,
		`{"b" 2,"a":1}`:                          false,
		`{"b":"x,"a":1}`:                         false,
		`[{"a":1}]`:                              false,
		``:                                       false,
		`{`:                                      false,
		`{"a":x}`:                                false,
		`{"a":"\x"}`:                             false,
	} {
		c, err := rule.ParseCondition(`object.a == 1`)
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][]string{nil, c.ObjectNames()} {
			var p rule.Properties
			p.Read(json.RawMessage(text), names)
			if got := c.Holds(&rule.Input{Object: &p}); got != want {
				t.Errorf("%s with %v: %v", text, names, got)
			}
		}
	}
}

// TestNames holds that a condition tells the properties it reads.
func TestNames(t *testing.T) {
	c, err := rule.ParseCondition(`object.b == fence.x and (not object.a or object.b > 3)`)
	if err != nil {
		t.Fatal(err)
	}
	if o, f := strings.Join(c.ObjectNames(), ","), strings.Join(c.FenceNames(), ","); o != "a,b" || f != "x" {
		t.Errorf("%s of the object, %s of the fence", o, f)
	}
	c, err = rule.ParseCondition(`speed > 3`)
	if err != nil || c.ObjectNames() == nil || c.FenceNames() == nil { // nil would read all
		t.Errorf("%v, %v, %v", c.ObjectNames(), c.FenceNames(), err)
	}
}

// TestConditionAllocates holds that neither reading properties nor a condition allocates.
func TestConditionAllocates(t *testing.T) {
	c, err := rule.ParseCondition(`speed_kmh > fence.maxspeed and object.kind == "bus" and not object.line < 3`)
	if err != nil {
		t.Fatal(err)
	}
	in := input(bus, school, known(13.9))
	raw := json.RawMessage(bus)
	if n := testing.AllocsPerRun(100, func() {
		in.Object.Read(raw, c.ObjectNames())
		if !c.Holds(in) {
			t.Fatal("it does not hold")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzCondition holds that no text makes the parser panic, that the canonical text is a fixed point
// with the same meaning, and that evaluation has an answer for all properties.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`speed > fence.maxspeed and object.kind == "bus"`, `not (object.a or fence["b c"] != null) || heading <= -1e3`,
		`object.a == 'x\'' && !fence.b`, `((((speed`, `"\ud800" == object.x`,
	} {
		f.Add(s, bus, school, float32(3))
	}
	f.Fuzz(func(t *testing.T, text, object, fence string, speed float32) {
		c, err := rule.ParseCondition(text)
		if err != nil {
			if c != nil || err.Error() == "" {
				t.Fatalf("%v, %v", c, err)
			}
			return
		}
		in := input(object, fence, known(speed))
		again, err := rule.ParseCondition(c.String())
		switch {
		case len(c.String()) > rule.MaxCondition: // quotes and spaces may make it longer
		case err != nil:
			t.Fatalf("%q as %q: %v", text, c, err)
		case again.String() != c.String() || again.Holds(in) != c.Holds(in):
			t.Fatalf("%q as %q, then %q", text, c, again)
		}
		c.Holds(input(object, ""))
	})
}

func BenchmarkCondition(b *testing.B) {
	c, err := rule.ParseCondition(`speed_kmh > fence.maxspeed and object.kind == "bus"`)
	if err != nil {
		b.Fatal(err)
	}
	raw := json.RawMessage(bus)
	in := input(bus, school, known(13.9))
	b.Run("holds", func(b *testing.B) {
		for b.Loop() {
			c.Holds(in)
		}
	})
	b.Run("read and hold", func(b *testing.B) {
		for b.Loop() {
			in.Object.Read(raw, c.ObjectNames())
			c.Holds(in)
		}
	})
}
