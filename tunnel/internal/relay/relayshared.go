package relay

import (
	"sync"
	"time"
)

// frames are buffers for small exchanges and records.
var Frames = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// longAgo is a deadline that wakes whoever waits.
var LongAgo = time.Unix(1, 0)

// h2Frame is the longest frame of HTTP/2 that is accepted, from visitors and targets. Its buffer is
// allocated before it arrives.
const H2Frame = 16 << 10

// tunnelAddr is the address of a tunnel at its server.
type TunnelAddr string

func (TunnelAddr) Network() string { return "tunnel" }

func (a TunnelAddr) String() string { return string(a) }
