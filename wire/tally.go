package wire

// tally counts the frames of one direction.
type tally struct {
	frames   [16]uint64 // by type; a batch of posts as it began
	posts    uint64     // bodies of POST and POSTS
	messages uint64     // DATA that completes a message
	ends     uint64     // END
	errors   uint64     // RES ERR
	pongs    uint64
}

// frame counts a frame; bodies of posts are counted by whoever has looked inside.
func (t *tally) frame(typ Type, flags Flags) {
	t.frames[typ]++
	switch typ {
	case DATA:
		if flags&FlagMore == 0 {
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
