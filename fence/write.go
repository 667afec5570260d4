package fence

import (
	"io"
	"iter"
)

// WriteGeoJSON writes a FeatureCollection of the fences, ids as given, one Feature a line.
// ReadGeoJSON gives equal fences back. It passes on the errors of w.
func WriteGeoJSON(w io.Writer, fences iter.Seq[*Fence]) error {
	buf := []byte(`{"type":"FeatureCollection","features":[`)
	n := 0
	for f := range fences {
		buf = append(comma(buf, n), '\n')
		buf = f.AppendFeature(buf, f.ID)
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
		n++
	}
	_, err := w.Write(append(buf, "\n]}\n"...))
	return err
}
