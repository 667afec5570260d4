package gofence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"paddock/lab/internal/gofence"
)

// cpuProfile makes a profile of stacks, each written from its root to its leaf. Calls are separated
// by spaces, and inlined functions by +: "a b+c" is a location of a, and one of b with c inlined.
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
	buckets, err := gofence.ParseBuckets(`a=^a\d?$; b = ^b$;`)
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
		s, err := gofence.Attribute(cpuProfile(map[string]time.Duration{stack: time.Second}), buckets)
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
	s, err := gofence.Attribute(cpuProfile(map[string]time.Duration{
		"net/http.(*conn).serve net/http.(*conn).readRequest net.(*conn).Read":                                             30 * time.Millisecond,
		"net/http.(*conn).serve paddock/internal/platform/httpapi/gofence.(*Handler).search encoding/json.Marshal":         50 * time.Millisecond,
		"net/http.(*conn).serve paddock/internal/platform/httpapi/gofence.(*Handler).search paddock/fence.(*Set).Snapshot": 70 * time.Millisecond,
		"runtime.mcall runtime.schedule": 110 * time.Millisecond,
	}), gofence.FenceBuckets())
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
	if _, err := gofence.Attribute(heap, gofence.FenceBuckets()); err == nil {
		t.Error("a profile of memory has no shares of time")
	}
}

// The functions that serve a search, through net/http and without it, are in the column of their
// work.
func TestFenceBuckets(t *testing.T) {
	for function, want := range map[string]string{
		"paddock/fence.(*Snapshot).Append":                                  gofence.LookUp,
		"paddock/fence.(*Snapshot).AppendBatch":                             gofence.LookUp,
		"paddock/fence.(*cellmap).Append":                                   gofence.LookUp,
		"paddock/fence.Fence.AppendFeature":                                 "",
		"encoding/json.Marshal":                                             gofence.JSONEncode,
		"encoding/json.Unmarshal":                                           gofence.JSONDecode,
		"paddock/internal/platform/httpapi/gofence.decodePoint":             gofence.JSONDecode,
		"paddock/internal/platform/httpapi/gofence.(*setRenderings).append": gofence.JSONEncode,
		"paddock/internal/platform/httpapi/gofence.readBody":                gofence.HTTPRead,
		"net/http.(*conn).readRequest":                                      gofence.HTTPRead,
		"net/http.(*connReader).backgroundRead":                             gofence.HTTPRead,
		"net/http.(*response).finishRequest":                                gofence.HTTPFinish,
		"net/http.(*response).Write":                                        gofence.HTTPFinish,
		"bufio.(*Writer).Flush":                                             gofence.HTTPFinish,
		"paddock/internal/platform/lookup/pointquery.Append":                gofence.JSONDecode,
		"paddock/internal/netio/plainhttp.(*Request).read":                  gofence.HTTPRead,
		"paddock/internal/netio/nowait.(*Receiver).Receive":                 gofence.HTTPRead,
		"paddock/internal/netio/plainhttp.(*conn).send":                     gofence.HTTPFinish,
		"bufio.(*Reader).Peek":                                              gofence.HTTPRead,
		"paddock/internal/platform/httpapi/gofence.headPlain":               gofence.HTTPFinish,
		"paddock/internal/platform/httpapi/gofence.(*Handler).AppendAnswer": "",
		"runtime.gcBgMarkWorker":                                            gofence.GC,
		"runtime.gcBgMarkWorker.func2":                                      gofence.GC,
		"net/http.(*conn).serve":                                            "",
		"paddock/internal/netio/plainhttp.(*conn).serve":                    "",
		"paddock/internal/platform/httpapi/gofence.(*Handler).searchBody":   "",
		"github.com/julienschmidt/httprouter.(*Router).ServeHTTP":           "",
		"runtime.mcall": "",
	} {
		got := ""
		for _, b := range gofence.FenceBuckets() {
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
		if _, err := gofence.ParseBuckets(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
