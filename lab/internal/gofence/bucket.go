package gofence

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bucket is one column of a table of shares: whatever runs under a function that it
// matches.
type Bucket struct {
	Name  string
	Match *regexp.Regexp // of a function's name as the profile has it: path/of/package.(*Type).Method
}

// The columns of gofence's table.
const (
	LookUp     = "fence look-up"
	JSONEncode = "JSON encode"
	JSONDecode = "JSON decode"
	HTTPRead   = "HTTP read"
	HTTPFinish = "HTTP finish"
	GC         = "GC"
)

// FenceBuckets returns the columns of gofence's table, in its order. gofence counted fence.Get,
// json.Marshal, json.Unmarshal, http.readRequest, http.finishRequest and runtime.gcBgMarkWorker;
// here each column also includes the functions that do the same work in our own codec, in plainhttp
// and in the collector.
func FenceBuckets() []Bucket {
	return []Bucket{
		{LookUp, regexp.MustCompile(`^paddock/fence\.\(\*\w+\)\.Append(Batch)?$`)},
		{JSONEncode, regexp.MustCompile(`^encoding/json(/v2)?\.(Marshal|\(\*Encoder\)\.)` +
			`|^paddock/internal/.*\.((\(\*?\w+\)\.)?(encode|render|append)\w*|\(\*setRenderings\)\.\w+)$`)},
		{JSONDecode, regexp.MustCompile(`^encoding/json(/v2)?\.(Unmarshal|\(\*Decoder\)\.)` +
			`|^paddock/internal/.*\.(\(\*?\w+\)\.)?([dD]ecode|[pP]arse|[sS]can)\w*$` +
			`|^paddock/internal/platform/lookup/pointquery\.`)}, // which echoes as it reads
		{HTTPRead, regexp.MustCompile(`^net/http\.\(\*(conn\)\.readRequest|connReader\)\.\w+)$` +
			`|^paddock/internal/platform/httpapi/.*\.readBody$|^bufio\.\(\*Reader\)\.(Peek|fill)$` +
			`|^paddock/internal/netio/plainhttp\.\(\*Request\)\.read$|^paddock/internal/netio/nowait\.\(\*Receiver\)\.Receive$`)},
		{HTTPFinish, regexp.MustCompile(`^net/http\.\(\*response\)\.(finishRequest|[wW]rite)$` +
			`|^bufio\.\(\*Writer\)\.Flush$|^paddock/internal/platform/httpapi/gofence\.(respond|headPlain|refusePlain)$` +
			`|^paddock/internal/netio/plainhttp\.\(\*conn\)\.send$`)},
		{GC, regexp.MustCompile(`^runtime\.(gcBgMarkWorker|gcDrain|bgsweep|bgscavenge)\b`)},
	}
}

// ParseBuckets reads "name=REGEXP;name=REGEXP". A regexp must not have a semicolon
// in it; \x3b matches one.
func ParseBuckets(text string) ([]Bucket, error) {
	var buckets []Bucket
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, expr, ok := strings.Cut(part, "=")
		expr = strings.TrimSpace(expr)
		if name = strings.TrimSpace(name); !ok || name == "" || expr == "" {
			return nil, fmt.Errorf("bucket %q: want name=REGEXP", part)
		}
		if slices.ContainsFunc(buckets, func(b Bucket) bool { return b.Name == name }) {
			return nil, fmt.Errorf("bucket %q is there twice", name)
		}
		match, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("bucket %q: %w", name, err)
		}
		buckets = append(buckets, Bucket{name, match})
	}
	if len(buckets) == 0 {
		return nil, fmt.Errorf("no buckets in %q", text)
	}
	return buckets, nil
}
