package spawn

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports come from below the range that systems take for outgoing connections (from 32768 on
// Linux): a server that is stopped and started again finds its own port free.
const (
	firstPort = 20000
	lastPort  = 32000
)

var given sync.Map // ports, of this process

// newPort returns a port without a listener that was not returned before.
func newPort() (int, error) {
	for range lastPort - firstPort {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_, taken := given.LoadOrStore(port, true)
		if l.Close() == nil && !taken {
			return port, nil
		}
	}
	return 0, errors.New("no free port")
}
