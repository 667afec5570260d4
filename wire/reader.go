package wire

import "paddock/internal/wire/frame"

const (
	// minRead is the least room for which a read is worth its call.
	minRead = 4 << 10
	// lateMost bounds the bytes of a stream whose reader is woken late.
	lateMost = 128 << 10
)

// reader holds the received bytes that are not consumed: block.buf[from:to]. An idle reader has no
// block. It belongs to the goroutine of the dispatcher.
type reader struct {
	block    *block
	from, to int
	lent     bool // the block before was

	// A stream whose reader is still to be woken. To wake another goroutine costs as much as to
	// decrypt a record: while more bytes are there already, bulk data gathers.
	gathers   bool // the reader calls wakeLate before it waits
	late      *Stream
	lateBytes int
}

// bytes returns the received bytes that are not consumed.
func (r *reader) bytes() []byte {
	if r.block == nil {
		return nil
	}
	return r.block.buf[r.from:r.to:r.to]
}

// room returns the place of the next bytes. Earlier bytes keep their place, as slices of them have
// been lent. The beginning of a frame moves to a new block if the rest would not fit.
func (r *reader) room() []byte {
	if r.block == nil {
		r.block, r.from, r.to = r.fresh(), 0, 0
		return r.block.buf
	}
	size := len(r.block.buf)
	have := r.to - r.from
	need := minRead
	if have >= frame.HeaderSize {
		need = max(need, frame.HeaderSize+frame.ParseHeader(r.block.buf[r.from:]).Len()-have)
	}
	if size-r.to >= need {
		return r.block.buf[r.to:]
	}
	// Memory grows with the received bytes, not with the announced length.
	var next *block
	if want := min(have+need, 2*have); want > blockSize {
		next = newBlock(want)
	} else {
		next = r.fresh()
	}
	copy(next.buf, r.block.buf[r.from:r.to])
	r.drop()
	r.block, r.from, r.to = next, 0, have
	return next.buf[have:]
}

// fresh returns a block to read into.
func (r *reader) fresh() *block {
	if r.lent {
		return warmBlock()
	}
	return newBlock(blockSize)
}

// drop releases the block.
func (r *reader) drop() {
	r.lent = r.block.lent
	r.block.release()
}

// giveBack releases the block if it holds nothing.
func (r *reader) giveBack() {
	if r.block != nil && r.from == r.to {
		r.drop()
		r.block = nil
	}
}

// putOff reports whether the reader of s is woken later for n received bytes.
func (r *reader) putOff(s *Stream, n int) bool {
	if r.late != s {
		r.wakeLate()
	}
	if !r.gathers || r.lateBytes+n > lateMost {
		r.late, r.lateBytes = nil, 0
		return false
	}
	r.late, r.lateBytes = s, r.lateBytes+n
	return true
}

// wakeLate wakes the goroutines whose wake-up was put off. It is called before anything that may
// wait.
func (r *reader) wakeLate() {
	if s := r.late; s != nil {
		r.late, r.lateBytes = nil, 0
		s.wakeReader()
	}
}
