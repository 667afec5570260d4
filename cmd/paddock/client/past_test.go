package client

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestJoin holds that the pages of a track are one document, however they come.
func TestJoin(t *testing.T) {
	gpx := func(points string) string {
		return xml.Header + `<gpx version="1.1"><trk><name>a &lt;trkseg&gt;</name><trkseg>` + "\n" + points + "</trkseg></trk></gpx>\n"
	}
	point := func(n int) string { return fmt.Sprintf("<trkpt lat=\"1\" lon=\"%d\"></trkpt>\n", n) }
	many := strings.Repeat(point(7), 10_000) // more than a buffer
	for name, c := range map[string]struct {
		join  joiner
		pages []string
		want  string
	}{
		"gpx": {
			joiner{head: []byte("<trkseg>\n"), tail: []byte("</trkseg></trk></gpx>\n")},
			[]string{gpx(point(1) + many), gpx(many), gpx(point(2)), gpx("")},
			gpx(point(1) + many + many + point(2)),
		},
		"one":    {joiner{head: []byte("<trkseg>\n"), tail: []byte("</trkseg></trk></gpx>\n")}, []string{gpx(point(1))}, gpx(point(1))},
		"csv":    {joiner{head: []byte("\n")}, []string{"t,lon\n1,2\n", "t,lon\n3,4\n", "t,lon\n"}, "t,lon\n1,2\n3,4\n"},
		"ndjson": {joiner{}, []string{"{}\n", "{}\n"}, "{}\n{}\n"},
	} {
		for reader, read := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with EOF": iotest.DataErrReader,
		} {
			var out bytes.Buffer
			c.join.w = &out
			for i, page := range c.pages {
				if err := c.join.page(read(strings.NewReader(page)), i == 0, i == len(c.pages)-1); err != nil {
					t.Fatalf("%s, %s: %v", name, reader, err)
				}
			}
			if out.String() != c.want {
				t.Errorf("%s, %s:\n%.200s\nwant\n%.200s", name, reader, &out, c.want)
			}
		}
	}
	join := joiner{w: io.Discard, head: []byte("<trkseg>\n")}
	for _, page := range []string{"<kml/>", strings.Repeat("x", 2*maxHead)} {
		if err := join.page(strings.NewReader(page), false, true); err == nil {
			t.Error("a page without a head is joined")
		}
	}
	if err := join.page(iotest.ErrReader(io.ErrUnexpectedEOF), true, true); err == nil {
		t.Error("no error of the answer")
	}
}
