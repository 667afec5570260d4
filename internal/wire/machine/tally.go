package machine

import "paddock/internal/wire/frame"

// Tally counts the frames of one direction.
type Tally struct {
	Frames   [16]uint64 // by type; a batch of posts as it began
	Bytes    uint64     // of frames with their headers
	Posts    uint64     // bodies of POST and POSTS
	Messages uint64     // DATA that completes a message, and first data
	Ends     uint64     // END
	Errors   uint64     // RES ERR
	Pongs    uint64

	// Of received frames only.
	Stale   uint64 // frames that named a slot which was free again
	Dropped uint64 // bytes discarded
	Mdrops  uint64 // messages and posts discarded
}

// frame counts a frame of size bytes; the bodies of posts are counted
// where they are decoded.
func (t *Tally) frame(typ frame.Type, flags frame.Flags, size int) {
	t.Frames[typ]++
	t.Bytes += uint64(size)
	switch typ {
	case frame.DATA:
		if endsMessage(flags, size-frame.HeaderSize) {
			t.Messages++
		}
		fallthrough
	case frame.OPEN:
		if flags&frame.FlagEnd != 0 {
			t.Ends++
		}
	case frame.RES:
		if flags&frame.FlagErr != 0 {
			t.Errors++
		}
	case frame.PING:
		if flags&frame.FlagPong != 0 {
			t.Pongs++
		}
	}
}

// first counts the first data of OPEN, which is a message.
func (t *Tally) first(data []byte) {
	if len(data) > 0 {
		t.Messages++
	}
}

// endsMessage reports whether DATA with n bytes completes a message. END without bytes ends the
// half and nothing else.
func endsMessage(flags frame.Flags, n int) bool {
	return flags&frame.FlagMore == 0 && (n > 0 || flags&frame.FlagEnd == 0)
}

// Total is how many frames there were.
func (t *Tally) Total() (n uint64) {
	for _, of := range t.Frames {
		n += of
	}
	return n
}

// discard counts n discarded bytes of f.
func (t *Tally) discard(f *frame.Frame, n int) {
	t.Dropped += uint64(n)
	if f.Type == frame.OPEN && n > 0 || f.Type == frame.DATA && endsMessage(f.Flags, n) {
		t.Mdrops++
	}
}

// dropPosts counts the first n bodies of f, which were handled on an earlier
// connection.
func (t *Tally) dropPosts(f *frame.Frame, n int) {
	t.Mdrops += uint64(n)
	if f.Type == frame.POST {
		t.Dropped += uint64(len(f.Body))
		return
	}
	for rest := f.Body; n > 0; n-- {
		var body []byte
		body, rest = frame.CutPost(rest)
		t.Dropped += uint64(len(body))
	}
}
