package fence

import (
	"hash/crc32"
	"io"

	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
)

// WriteImage writes the set for OpenImage, together with a note, such as what the set was
// made of. It fails with ErrEdited if anything was changed since the set's first publication,
// which must have been a Replace of all of it, and otherwise as w does.
func (s *Set) WriteImage(w io.Writer, note []byte) error {
	snap := s.Snapshot()
	sections := [imageSections][]byte{sectionNote: note, sectionOptions: []byte(imageOptions(s.options))}
	if snap.generation != 1 || !snap.layOut(&sections) {
		return ErrEdited
	}
	h := imageHeader{Version: imageVersion, Order: imageOrder}
	copy(h.Magic[:], imageMagic)
	at := uint64(imageHeaderSize)
	for i, b := range sections {
		h.Sections[i] = imageSpan{at, uint64(len(b))}
		at += uint64(padded(len(b)))
	}
	h.Size = at
	header := []imageHeader{h}
	h.Sum = crc32.Update(0, castagnoli, bytesOf(header)[imageSummed:])
	for _, b := range sections {
		h.Sum = crc32.Update(h.Sum, castagnoli, b)
		h.Sum = crc32.Update(h.Sum, castagnoli, padding[:padded(len(b))-len(b)])
	}
	header[0] = h
	if _, err := w.Write(bytesOf(header)); err != nil {
		return err
	}
	for _, b := range sections {
		if _, err := w.Write(b); err != nil {
			return err
		}
		if _, err := w.Write(padding[:padded(len(b))-len(b)]); err != nil {
			return err
		}
	}
	return nil
}

var padding [8]byte

// padded is the next multiple of 8.
func padded(n int) int { return (n + 7) &^ 7 }

// layOut fills the sections of the fences and of the index; false if refs have gaps.
func (s *Snapshot) layOut(sections *[imageSections][]byte) bool {
	var (
		text         []byte
		fences       []imageFence
		parts, rings []uint32
		points       []geometry.Point
		lines        []uint32
		places       []geometry.Point
	)
	size := func(b []byte) uint32 {
		if b == nil {
			return 0
		}
		return uint32(len(b)) + 1
	}
	for e := range s.table.All() {
		if int(e.Ref) != len(fences) {
			return false
		}
		f := e.Fence
		fences = append(fences, imageFence{
			uint32(len(f.Geometry)), uint32(len(f.Lines)), uint32(len(f.Key)), size(f.ID), size(f.Properties),
		})
		text = append(append(append(text, f.Key...), f.ID...), f.Properties...)
		for _, part := range f.Geometry {
			parts = append(parts, uint32(len(part)))
			for _, ring := range part {
				rings = append(rings, uint32(len(ring)))
				points = append(points, ring...)
			}
		}
		for _, l := range f.Lines {
			lines, places = append(lines, uint32(len(l))), append(places, l...)
		}
	}
	sections[sectionFindings] = s.appendFindings(nil)
	sections[sectionText], sections[sectionFences] = text, bytesOf(fences)
	sections[sectionParts], sections[sectionRings], sections[sectionPoints] = bytesOf(parts), bytesOf(rings), bytesOf(points)
	sections[sectionLines], sections[sectionPlaces] = bytesOf(lines), bytesOf(places)
	if x, ok := s.index.(*cellmap.Index); ok {
		if grid, dir, words, asBuilt := x.Arrays(); asBuilt {
			sections[sectionGrid] = bytesOf([]cellmap.Grid{grid})
			sections[sectionDir], sections[sectionWords] = bytesOf(dir), bytesOf(words)
		}
	}
	return true
}
