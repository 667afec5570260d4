package fence

import (
	"fmt"
	"runtime/debug"
)

const (
	// batchBytes and batchFeatures are how much a batch holds before it is parsed: enough that a
	// goroutine is worth its while, and little enough that all CPUs have something to do.
	batchBytes    = 64 << 10
	batchFeatures = 1 << 10
	// maxCopy bounds the features that are copied to be parsed while the lexer goes on. Larger
	// ones are parsed where they are, so that no memory is needed for a second copy.
	maxCopy = 1 << 20
)

// batch is a run of features of a document, which are parsed in one go. Batches are parsed side
// by side, and what comes of them is taken in the order of the document. A batch is filled and
// emptied by the reader of the document; in between, until done is closed, by parse alone.
type batch struct {
	text    []byte // of the features, one after the other
	ends    []int  // of each in text. One without text was too large.
	reader  featureReader
	parsed  []parsedFeature
	done    chan struct{}
	trouble error // a panic, which goes on where it would have without goroutines
}

// parsedFeature is what came of a feature.
type parsedFeature struct {
	fence    Fence
	findings []Finding
	err      error // as of featureReader.read
	vertices int   // that were read, also if it was refused
}

func (b *batch) reset() {
	clear(b.parsed) // the fences live on without it
	b.text, b.ends, b.parsed, b.trouble = b.text[:0], b.ends[:0], b.parsed[:0], nil
}

// add copies a feature. There is none if it was too large.
func (b *batch) add(feature []byte) {
	b.text = append(b.text, feature...)
	b.ends = append(b.ends, len(b.text))
}

func (b *batch) full() bool { return len(b.text) >= batchBytes || len(b.ends) >= batchFeatures }

// run parses the batch and closes done.
func (b *batch) run() {
	defer close(b.done)
	defer func() {
		if r := recover(); r != nil {
			b.trouble = fmt.Errorf("%v, while features were parsed\n%s", r, debug.Stack())
		}
	}()
	b.parse(b.text)
}

// parse parses the features of text, which is borrowed.
func (b *batch) parse(text []byte) {
	from := 0
	for _, end := range b.ends {
		b.parsed = append(b.parsed, b.reader.parse(text[from:end]))
		from = end
	}
}
