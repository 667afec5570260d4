package fence

import (
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"
)

// An image is a set as one piece of memory, in the byte order of the machine that wrote it:
//
//	header     imageHeader
//	sections   each begins at a multiple of 8
//
// The sections, in the order of their numbers:
//
//	note       what the writer was told to keep with it
//	options    what the set's answers depend on, as text
//	findings   see appendFindings
//	text       key, id and properties of each fence, one after the other
//	fences     imageFence of each, by ref, which count from 0
//	parts      uint32 of each part: its number of rings
//	rings      uint32 of each ring: its number of vertices
//	points     Point of each vertex
//	lines      uint32 of each line: its number of vertices
//	places     Point of each vertex of a line
//	grid       Grid of the cellmap; empty, as are the next two, if there is none
//	dir        its entries
//	words      its records and lists
//
// A set shares the memory of its image. Keys and the texts of findings are copied: a caller that
// keeps one of them would keep the whole image.
const (
	imageMagic   = "PDKFENCE"
	imageVersion = 3          // of this layout, of a cellmap's arrays and of the findings: a change increments it
	imageOrder   = 0x01020304 // reads differently in another byte order
)

const (
	sectionNote = iota
	sectionOptions
	sectionFindings
	sectionText
	sectionFences
	sectionParts
	sectionRings
	sectionPoints
	sectionLines
	sectionPlaces
	sectionGrid
	sectionDir
	sectionWords
	imageSections
)

// ErrImage is wrapped where bytes are not an image that a set can be made of.
var ErrImage = errors.New("not usable as an image of a set")

// ErrEdited is returned where a set has no image, since it was changed after it was made: a set
// made of its present document may have the fences in another order.
var ErrEdited = errors.New("the set was changed since it was made")

type imageHeader struct {
	Magic    [8]byte
	Version  uint32
	Order    uint32
	Size     uint64 // of all, in bytes
	Sum      uint32 // CRC-32C of all that follows this field
	_        uint32
	Sections [imageSections]imageSpan
}

// imageSpan is where a section is.
type imageSpan struct{ Offset, Size uint64 }

const (
	imageHeaderSize = unsafe.Sizeof(imageHeader{})
	imageSummed     = unsafe.Offsetof(imageHeader{}.Sum) + 4 // where what is summed begins
)

// imageFence is a fence: the numbers of its parts and lines, and the sizes of its texts in bytes.
// The sizes of ID and Properties are one more, and 0 for nil.
type imageFence struct{ Parts, Lines, Key, ID, Properties uint32 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// imageOptions tells what the set's answers, and what is read from its document, depend on.
// The zoom and the parents never change an answer.
func imageOptions(o Options) string {
	return fmt.Sprintf("kind=%s boundary=%s antimeridian=%s id=%q strict=%t limits=%+v",
		o.Kind, o.Boundary, o.Antimeridian, o.IDProperty, o.Strict, o.Limits.WithDefaults())
}

// bytesOf is the memory of a slice without pointers.
func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// sliceOf is the memory as a slice of a type without pointers; false if it is no whole number
// of them. b is aligned.
func sliceOf[T any](b []byte) ([]T, bool) {
	var t T
	n := len(b) / int(unsafe.Sizeof(t))
	if n*int(unsafe.Sizeof(t)) != len(b) {
		return nil, false
	}
	if n == 0 {
		return nil, true
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), true
}
