package wire

// tally counts the frames of one direction.
type tally struct {
	frames   [16]uint64 // by type; a batch of posts as it began
	bytes    uint64     // of frames with their headers
	posts    uint64     // bodies of POST and POSTS
	messages uint64     // DATA that completes a message, and first data
	ends     uint64     // END
	errors   uint64     // RES ERR
	pongs    uint64

	// Of what has come only.
	stale   uint64 // frames that named a slot which was free again
	dropped uint64 // bytes discarded
	mdrops  uint64 // messages and posts discarded
}

// frame counts a frame of size bytes; the bodies of posts are counted
// where they are decoded.
func (t *tally) frame(typ Type, flags Flags, size int) {
	t.frames[typ]++
	t.bytes += uint64(size)
	switch typ {
	case DATA:
		if endsMessage(flags, size-HeaderSize) {
			t.messages++
		}
		fallthrough
	case OPEN:
		if flags&FlagEnd != 0 {
			t.ends++
		}
	case RES:
		if flags&FlagErr != 0 {
			t.errors++
		}
	case PING:
		if flags&FlagPong != 0 {
			t.pongs++
		}
	}
}

// first counts the first data of OPEN, which is a message.
func (t *tally) first(data []byte) {
	if len(data) > 0 {
		t.messages++
	}
}

// endsMessage says whether DATA with n bytes completes a message. END without
// bytes ends the half and nothing else.
func endsMessage(flags Flags, n int) bool {
	return flags&FlagMore == 0 && (n > 0 || flags&FlagEnd == 0)
}

// total is how many frames there were.
func (t *tally) total() (n uint64) {
	for _, of := range t.frames {
		n += of
	}
	return n
}

// discard counts n discarded bytes of f.
func (t *tally) discard(f *Frame, n int) {
	t.dropped += uint64(n)
	if f.Type == OPEN && n > 0 || f.Type == DATA && endsMessage(f.Flags, n) {
		t.mdrops++
	}
}

// dropPosts counts the first n bodies of f, which were handled on an earlier
// connection.
func (t *tally) dropPosts(f *Frame, n int) {
	t.mdrops += uint64(n)
	if f.Type == POST {
		t.dropped += uint64(len(f.Body))
		return
	}
	for rest := f.Body; n > 0; n-- {
		var body []byte
		body, rest = CutPost(rest)
		t.dropped += uint64(len(body))
	}
}
