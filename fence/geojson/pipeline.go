package geojson

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// pipeline parses the features of a document in batches, as many at once as there are CPUs. A
// merger takes the results in the order of the document. The lexer's goroutine calls it, and no
// other.
type pipeline struct {
	options ReadOptions
	left    *allowance
	width   int      // batches that are parsed or wait to be taken, at most
	filling *batch   // the one that features are added to; nil if there is none
	running []*batch // in the order of the document
	idle    []*batch // to be filled again
	merger  merger
}

func newPipeline(file string, o ReadOptions) pipeline {
	return pipeline{
		options: o, left: o.Limits.allowance(), merger: newMerger(file, o.Limits),
		// Two for each CPU, so that none is idle while the lexer waits for the oldest.
		width: 2 * runtime.GOMAXPROCS(0),
	}
}

// add takes a feature, which is borrowed; one without text was too large. An error is about one
// of those before, and final.
func (p *pipeline) add(feature []byte) error {
	if len(feature) > maxCopy {
		return p.parseHere(feature)
	}
	if p.filling == nil {
		p.filling = p.batch()
	}
	if p.filling.add(feature); !p.filling.full() {
		return nil
	}
	return p.start()
}

// addRaw takes a feature that is split already, the only one of a document.
func (p *pipeline) addRaw(feature *rawFeature) error {
	b := p.batch()
	b.parsed = append(b.parsed, b.reader.take(feature))
	return p.merge(b)
}

// batch gives an empty one.
func (p *pipeline) batch() *batch {
	if n := len(p.idle); n > 0 {
		b := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return b
	}
	return &batch{reader: featureReader{options: p.options, left: p.left}}
}

// start has the batch in hand, if any, parsed by a goroutine.
func (p *pipeline) start() error {
	b := p.filling
	if b == nil {
		return nil
	}
	p.filling = nil
	b.done = make(chan struct{})
	go b.run()
	return p.push(b)
}

// parseHere parses a large feature at once, while others go on.
func (p *pipeline) parseHere(feature []byte) error {
	if err := p.start(); err != nil {
		return err
	}
	b := p.batch()
	b.ends = append(b.ends, len(feature))
	b.parse(feature)
	b.done = make(chan struct{})
	close(b.done)
	return p.push(b)
}

// push puts a batch at the end of the queue, and takes the oldest one if it is too long.
func (p *pipeline) push(b *batch) error {
	p.running = append(p.running, b)
	if len(p.running) < p.width {
		return nil
	}
	return p.pull()
}

// pull waits for the oldest batch and takes its features.
func (p *pipeline) pull() error {
	b := p.running[0]
	p.running = p.running[1:]
	<-b.done
	if b.trouble != nil {
		panic(b.trouble)
	}
	return p.merge(b)
}

func (p *pipeline) merge(b *batch) error {
	for i := range b.parsed {
		p.merger.take(&b.parsed[i])
	}
	b.reset()
	p.idle = append(p.idle, b)
	return p.merger.failed
}

// settle takes all features that were added. The last batch is parsed by the caller, so that a
// short document needs no goroutine at all.
func (p *pipeline) settle() error {
	last := p.filling
	p.filling = nil
	if last != nil {
		last.parse(last.text)
	}
	for len(p.running) > 0 {
		_ = p.pull() // the merger keeps the error
	}
	if last != nil {
		return p.merge(last)
	}
	return p.merger.failed
}

// wait ends with the last goroutine.
func (p *pipeline) wait() {
	for _, b := range p.running {
		<-b.done
	}
}

const (
	// batchBytes and batchFeatures are how much a batch holds before it is parsed: enough that a
	// goroutine is worth its while, and little enough that all CPUs have something to do.
	batchBytes    = 64 << 10
	batchFeatures = 1 << 10
	// maxCopy bounds the features that are copied to be parsed while the lexer goes on. Larger
	// ones are parsed where they are, so that no memory is needed for a second copy.
	maxCopy = 1 << 20
)

// batch is a run of features of a document that are parsed together. Batches are parsed in
// parallel, and their results are taken in the order of the document. The reader of the document
// fills and empties a batch. In between, until done is closed, only parse uses it.
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
