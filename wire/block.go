package wire

import (
	"sync"
	"sync/atomic"
)

const (
	// blockSize holds a frame of the default size with its header, and some of
	// what follows: with 64 KiB every bulk frame would be split over two reads.
	blockSize = 68 << 10
	// smallBlockSize is for what is copied because it is too small to hold a whole
	// block back: pieces under 1/8 of one.
	smallBlockSize = blockSize / 8
)

// block is memory that bytes are read into and handed out from. It goes back to
// its pool when the last reference is released.
type block struct {
	buf  []byte
	pool *sync.Pool // nil: not pooled
	refs atomic.Int32
}

var (
	blocks      = sync.Pool{}
	smallBlocks = sync.Pool{}
)

// newBlock returns a block with one reference and at least size bytes.
func newBlock(size int) *block {
	pool, pooled := &blocks, blockSize
	if size <= smallBlockSize {
		pool, pooled = &smallBlocks, smallBlockSize
	}
	if size > pooled {
		b := &block{buf: make([]byte, size)}
		b.refs.Store(1)
		return b
	}
	b, _ := pool.Get().(*block)
	if b == nil {
		b = &block{buf: make([]byte, pooled), pool: pool}
	}
	b.refs.Store(1)
	return b
}

func (b *block) retain() { b.refs.Add(1) }

// release gives a reference back. In builds with the race detector the bytes are
// spoiled, so that whoever kept a borrowed slice sees it.
func (b *block) release() {
	left := b.refs.Add(-1)
	if left < 0 {
		panic("wire: a block was released twice")
	}
	if left > 0 {
		return
	}
	if mangle {
		for i := range b.buf {
			b.buf[i] = 0xCC
		}
	}
	if b.pool != nil {
		b.pool.Put(b)
	}
}
