package wire

import (
	"sync"
	"sync/atomic"

	"paddock/internal/wire/frame"
)

const (
	// blockSize holds a frame of the default size with its header, and some of the next one: with
	// 64 KiB every bulk frame would be split over two reads.
	blockSize = 68 << 10
	// smallBlockSize is the size of a block for pieces that are copied, because they are too small
	// to hold a whole block back: less than 1/8 of one.
	smallBlockSize = blockSize / 8
)

// block is memory that bytes are read into and handed out from. It goes back to
// its pool when the last reference is released.
type block struct {
	buf  []byte
	pool *sync.Pool // nil: not pooled
	lent bool       // bytes of it went to another goroutine
	refs atomic.Int32
}

var (
	blocks      = sync.Pool{}
	smallBlocks = sync.Pool{}
	warmBlocks  warmStack
)

// maxWarm bounds the blocks of a warmStack, and so the memory that it never gives back.
const maxWarm = 16

// warmStack has the blocks that readers lent and that came back: the latest goes out
// first, as it is still in a processor's cache. A sync.Pool keeps them by processor, and a
// block that another one has released is found last.
type warmStack struct {
	mu   sync.Mutex
	list []*block
}

func (w *warmStack) push(b *block) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == maxWarm {
		return false
	}
	w.list = append(w.list, b)
	return true
}

// pop returns nil if there is none.
func (w *warmStack) pop() (b *block) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.list); n > 0 {
		b = w.list[n-1]
		w.list = w.list[:n-1]
	}
	return b
}

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
	b.lent = false
	b.refs.Store(1)
	return b
}

// warmBlock is newBlock(blockSize) for a reader that has lent its last one.
func warmBlock() *block {
	b := warmBlocks.pop()
	if b == nil {
		return newBlock(blockSize)
	}
	b.lent = false
	b.refs.Store(1)
	return b
}

func (b *block) retain() { b.refs.Add(1) }

// release gives a reference back. In builds with the race detector the bytes are overwritten, so
// that code which has kept a borrowed slice fails.
func (b *block) release() {
	left := b.refs.Add(-1)
	if left < 0 {
		panic("wire: a block was released twice")
	}
	if left > 0 {
		return
	}
	spoil(b.buf)
	switch {
	case b.pool == nil:
	case !b.lent || !warmBlocks.push(b):
		b.pool.Put(b)
	}
}

// spoil overwrites bytes that were lent, in builds with the race detector.
func spoil(b []byte) {
	if frame.Mangle {
		for i := range b {
			b[i] = 0xCC
		}
	}
}
