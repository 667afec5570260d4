package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"paddock/internal/lab"
)

// cpuProfile makes a profile of stacks, each written from its root to its leaf. Calls
// are parted by spaces, and what is inlined into a call by +: "a b+c" is a location
// of a, and one of b with c inlined.
func cpuProfile(stacks map[string]time.Duration) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{
		{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"},
	}}
	for stack, spent := range stacks {
		s := &profile.Sample{Value: []int64{int64(spent / (10 * time.Millisecond)), int64(spent)}}
		for call := range strings.FieldsSeq(stack) {
			l := &profile.Location{}
			for name := range strings.SplitSeq(call, "+") {
				l.Line = append([]profile.Line{{Function: &profile.Function{Name: name}}}, l.Line...)
			}
			s.Location = append([]*profile.Location{l}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestASampleIsItsRootMostMatchs(t *testing.T) {
	buckets, err := lab.ParseBuckets(`a=^a\d?$; b = ^b$;`)
	if err != nil {
		t.Fatal(err)
	}
	for stack, want := range map[string]string{
		"main a leaf":    "a",
		"main a b":       "a",
		"main b a":       "b",
		"main x+b+a":     "b", // a is inlined into b
		"main x+a+b y b": "a",
		"main a1+b":      "a",
		"main x+y":       "",
		"b":              "b",
		"":               "",
	} {
		s, err := lab.Attribute(cpuProfile(map[string]time.Duration{stack: time.Second}), buckets)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i, spent := range s.Buckets {
			if spent == time.Second {
				got = buckets[i].Name
			}
		}
		if got != want || s.Total != time.Second || s.Samples != 100 || (want == "") != (s.Other == time.Second) {
			t.Errorf("%q is in %q, want %q: %+v", stack, got, want, s)
		}
	}
}

func TestRowsAddUp(t *testing.T) {
	s, err := lab.Attribute(cpuProfile(map[string]time.Duration{
		"net/http.(*conn).serve net/http.(*conn).readRequest net.(*conn).Read":                                             30 * time.Millisecond,
		"net/http.(*conn).serve paddock/internal/platform/httpapi/gofence.(*Handler).search encoding/json.Marshal":         50 * time.Millisecond,
		"net/http.(*conn).serve paddock/internal/platform/httpapi/gofence.(*Handler).search paddock/fence.(*Set).Snapshot": 70 * time.Millisecond,
		"runtime.mcall runtime.schedule": 110 * time.Millisecond,
	}), lab.FenceBuckets())
	if err != nil {
		t.Fatal(err)
	}
	sum := s.Other
	for _, spent := range s.Buckets {
		sum += spent
	}
	if sum != s.Total || s.Total != 260*time.Millisecond || s.Other != 180*time.Millisecond || s.Samples != 26 {
		t.Errorf("got %+v", s)
	}
}

func TestOtherProfilesAreRefused(t *testing.T) {
	heap := &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}}
	if _, err := lab.Attribute(heap, lab.FenceBuckets()); err == nil {
		t.Error("a profile of memory has no shares of time")
	}
}

// What serves a search, by net/http and without it, is in the column of its work.
func TestFenceBuckets(t *testing.T) {
	for function, want := range map[string]string{
		"paddock/fence.(*Snapshot).Append":                                  lab.LookUp,
		"paddock/fence.(*Snapshot).AppendBatch":                             lab.LookUp,
		"paddock/fence.(*cellmap).Append":                                   lab.LookUp,
		"paddock/fence.Fence.AppendFeature":                                 "",
		"encoding/json.Marshal":                                             lab.JSONEncode,
		"encoding/json.Unmarshal":                                           lab.JSONDecode,
		"paddock/internal/platform/httpapi/gofence.decodePoint":             lab.JSONDecode,
		"paddock/internal/platform/httpapi/gofence.(*setRenderings).append": lab.JSONEncode,
		"paddock/internal/platform/httpapi/gofence.readBody":                lab.HTTPRead,
		"net/http.(*conn).readRequest":                                      lab.HTTPRead,
		"net/http.(*connReader).backgroundRead":                             lab.HTTPRead,
		"net/http.(*response).finishRequest":                                lab.HTTPFinish,
		"net/http.(*response).Write":                                        lab.HTTPFinish,
		"bufio.(*Writer).Flush":                                             lab.HTTPFinish,
		"paddock/internal/platform/pointquery.Append":                       lab.JSONDecode,
		"paddock/internal/netio/plainhttp.(*Request).read":                  lab.HTTPRead,
		"paddock/internal/netio/nowait.(*Receiver).Receive":                 lab.HTTPRead,
		"paddock/internal/netio/plainhttp.(*conn).send":                     lab.HTTPFinish,
		"bufio.(*Reader).Peek":                                              lab.HTTPRead,
		"paddock/internal/platform/httpapi/gofence.headPlain":               lab.HTTPFinish,
		"paddock/internal/platform/httpapi/gofence.(*Handler).AppendAnswer": "",
		"runtime.gcBgMarkWorker":                                            lab.GC,
		"runtime.gcBgMarkWorker.func2":                                      lab.GC,
		"net/http.(*conn).serve":                                            "",
		"paddock/internal/netio/plainhttp.(*conn).serve":                    "",
		"paddock/internal/platform/httpapi/gofence.(*Handler).searchBody":   "",
		"github.com/julienschmidt/httprouter.(*Router).ServeHTTP":           "",
		"runtime.mcall": "",
	} {
		got := ""
		for _, b := range lab.FenceBuckets() {
			if b.Match.MatchString(function) {
				got = b.Name
				break
			}
		}
		if got != want {
			t.Errorf("%s is in %q, want %q", function, got, want)
		}
	}
}

func TestBadBuckets(t *testing.T) {
	for text, want := range map[string]string{
		"":        "no buckets",
		" ; ":     "no buckets",
		"a":       "want name=REGEXP",
		"=x":      "want name=REGEXP",
		"a=":      "want name=REGEXP",
		"a=(":     `bucket "a"`,
		"a=x;a=y": "there twice",
	} {
		if _, err := lab.ParseBuckets(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
