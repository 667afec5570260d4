package geojson

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// squareFeature is a Feature of a square with the given id, and properties of some length.
func squareFeature(id, size int) string {
	x := id % 100
	return fmt.Sprintf(`{"type":"Feature","id":%d,"properties":{"text":%q},"geometry":{"type":"Polygon","coordinates":[[[%d,0],[%d,0],[%d,1],[%d,1],[%d,0]]]}}`,
		id, strings.Repeat("x", size), x, x+1, x+1, x, x)
}

func documentOf(features []string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",\n") + `]}`
}

// TestManyBatches reads features of all sizes, good and bad, and finds them in order, however
// many are parsed at once.
func TestManyBatches(t *testing.T) {
	t.Parallel()
	var features []string
	for i := range 4000 {
		switch {
		case i%2000 == 500:
			features = append(features, squareFeature(i, maxCopy)) // parsed where it is
		case i%2000 == 600:
			features = append(features, squareFeature(i, 2*maxCopy)) // over the limit
		case i%7 == 3:
			features = append(features, "7")
		case i%11 == 3:
			features = append(features, strings.Replace(squareFeature(i, 100), "[[[", "[[[999,0],[", 1))
		default:
			features = append(features, squareFeature(i/2*2, i%300)) // two of each id
		}
	}
	doc := documentOf(features)
	for _, cpus := range []int{1, 2, 7} {
		c := readOn(t, cpus, doc)
		checkOrder(t, c)
		if n := len(c.Fences) + c.Skipped; n != len(features) {
			t.Errorf("%d CPUs: %d of %d features", cpus, n, len(features))
		}
	}
}

func readOn(t *testing.T, cpus int, doc string) *Collection {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))
	c, err := ReadGeoJSON(strings.NewReader(doc), "f", ReadOptions{Limits: Limits{FeatureBytes: 2 * maxCopy}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkOrder tells each feature's fate by its number.
func checkOrder(t *testing.T, c *Collection) {
	t.Helper()
	codes := map[int]Code{}
	last := -1
	for _, f := range c.Findings {
		if f.Feature <= last {
			t.Fatalf("a finding about feature %d after one about %d", f.Feature, last)
		}
		last = f.Feature
		codes[f.Feature] = f.Code
	}
	fences := c.Fences
	for i := range 4000 {
		want, key := Code(""), fmt.Sprint(i/2*2)
		switch {
		case i%2000 == 500:
			key = fmt.Sprint(i)
		case i%2000 == 600:
			want = CodeTooLarge
		case i%7 == 3:
			want = CodeNotFeature
		case i%11 == 3:
			want = CodeOutOfRange
		case i%2 == 1 && len(fences) > 0 && strings.HasSuffix(fences[0].Key, "~2"):
			want, key = CodeDuplicateID, key+"~2"
		}
		if codes[i] != want {
			t.Fatalf("feature %d: finding %q, want %q", i, codes[i], want)
		}
		if want != "" && want != CodeDuplicateID {
			continue
		}
		if fences[0].Key != key {
			t.Fatalf("feature %d has the key %q, want %q", i, fences[0].Key, key)
		}
		fences = fences[1:]
	}
}

// TestTheFirstErrorWins: of several errors in a document, the reader returns the first in its text,
// although the lexer is far ahead of the goroutines.
func TestTheFirstErrorWins(t *testing.T) {
	features := make([]string, 3000) // of 4 vertices each
	for i := range features {
		features[i] = squareFeature(i, 50)
	}
	limits := Limits{Vertices: 4*1000 + 2} // 5 positions are read for 4 vertices
	crs := `,"crs":{"type":"name","properties":{"name":"EPSG:2263"}}}`
	for name, tc := range map[string]struct {
		broken int // the feature that is no JSON
		end    string
		limits Limits
		want   string
	}{
		"vertices":                {3000, "}", limits, "f: limit exceeded: too many vertices"},
		"vertices before syntax":  {2000, "}", limits, "f: limit exceeded: too many vertices"},
		"syntax before vertices":  {400, "}", limits, "f:401:1: unexpected 'o', a JSON value is due (byte"},
		"vertices before the CRS": {3000, crs, limits, "f: limit exceeded: too many vertices"},
		"the CRS at the end":      {3000, crs, Limits{}, `f: unsupported coordinate reference system "EPSG:2263"`},
		"nothing after the end":   {3000, "}}", Limits{}, "f:3000:"},
	} {
		fs := append([]string{}, features...)
		if tc.broken < len(fs) {
			fs[tc.broken] = "oops"
		}
		doc := strings.TrimSuffix(documentOf(fs), "}") + tc.end
		c, err := ReadGeoJSON(strings.NewReader(doc), "f", ReadOptions{Limits: tc.limits})
		if c != nil || err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
}

// TestTheLimitIsOfAllFeatures: of small features with many vertices each, such as circles, no more
// are made than the document may have, though they are parsed many at once.
func TestTheLimitIsOfAllFeatures(t *testing.T) {
	features := make([]string, 2000)
	for i := range features {
		features[i] = `{"circle":{"lon":0,"lat":80,"radius_m":1e6}}`
	}
	doc := documentOf(features)
	for limit, fits := range map[int]bool{20_000: false, 1 << 30: true} {
		if fits {
			doc = documentOf(features[:20])
		}
		allocs := testing.AllocsPerRun(1, func() {
			c, err := ReadGeoJSON(strings.NewReader(doc), "f", ReadOptions{Limits: Limits{Vertices: limit}})
			if fits != (err == nil) || !fits && !errors.Is(err, ErrLimit) || fits && len(c.Fences) != 20 {
				t.Errorf("%d vertices: %v", limit, err)
			}
		})
		if allocs > 10_000 {
			t.Errorf("%v allocations for %d vertices", allocs, limit)
		}
	}
}

// TestPanicsComeToTheCaller: a defect in here costs the request that met it, not the process.
func TestPanicsComeToTheCaller(t *testing.T) {
	p := newPipeline("f", ReadOptions{Limits: Limits{}.WithDefaults()})
	p.filling = &batch{ends: []int{1}} // beyond its text
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), "slice bounds out of range") || !strings.Contains(err.Error(), "pipeline.go") {
			t.Errorf("got %v", err)
		}
	}()
	err := p.settle()
	t.Errorf("no panic, but %v", err)
}

// TestReadersThatPanic leaves no goroutine behind; TestMain looks.
func TestReadersThatPanic(t *testing.T) {
	features := make([]string, 3000)
	for i := range features {
		features[i] = squareFeature(i, 50)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, errReader) {
			t.Errorf("got %v", err)
		}
	}()
	_, err := ReadGeoJSON(&panicking{strings.NewReader(documentOf(features))}, "f", ReadOptions{})
	t.Errorf("no panic, but %v", err)
}

var errReader = errors.New("reader's own")

type panicking struct{ r *strings.Reader }

func (p *panicking) Read(b []byte) (int, error) {
	if p.r.Len() == 0 {
		panic(errReader)
	}
	return p.r.Read(b)
}
