package tunnel

import (
	"sync"
	"time"
)

// frames are buffers for small exchanges and records.
var frames = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// longAgo is a deadline that wakes whoever waits.
var longAgo = time.Unix(1, 0)

// h2Frame is the longest frame of HTTP/2 that is accepted, from visitors and targets. Its buffer is
// allocated before it arrives.
const h2Frame = 16 << 10

// tunnelAddr is the address of a tunnel at its server.
type tunnelAddr string

func (tunnelAddr) Network() string { return "tunnel" }

func (a tunnelAddr) String() string { return string(a) }
