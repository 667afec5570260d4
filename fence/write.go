package fence

import (
	"encoding/json"
	"io"
	"iter"
)

// WriteGeoJSON writes a FeatureCollection of the fences, ids as given, one Feature a line.
// ReadGeoJSON gives equal fences back. It passes on the errors of w.
func WriteGeoJSON(w io.Writer, fences iter.Seq[*Fence]) error {
	return writeCollection(w, fences, func(f *Fence) json.RawMessage { return f.ID })
}

// WriteGeoJSON writes a FeatureCollection of the set by ascending ref, in which the id of
// each Feature is its key. It passes on the errors of w.
func (s *Snapshot) WriteGeoJSON(w io.Writer) error {
	fences := func(yield func(*Fence) bool) {
		for e := range s.table.all() {
			if !yield(e.fence) {
				return
			}
		}
	}
	return writeCollection(w, fences, func(f *Fence) json.RawMessage {
		id, _ := json.Marshal(f.Key) // a string always marshals
		return id
	})
}

func writeCollection(w io.Writer, fences iter.Seq[*Fence], id func(*Fence) json.RawMessage) error {
	buf := []byte(`{"type":"FeatureCollection","features":[`)
	n := 0
	for f := range fences {
		buf = append(comma(buf, n), '\n')
		buf = f.AppendFeature(buf, id(f))
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
		n++
	}
	_, err := w.Write(append(buf, "\n]}\n"...))
	return err
}
