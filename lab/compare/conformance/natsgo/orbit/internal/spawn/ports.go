package spawn

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports come from below the range that systems take for outgoing connections
// (from 32768 on Linux): a server that is stopped and started again finds its
// own port free.
const (
	firstPort = 20000
	lastPort  = 32000
)

// ports were given out by this process.
var ports = struct {
	sync.Mutex
	next  int
	given map[int]bool
}{next: firstPort + rand.IntN(lastPort-firstPort), given: map[int]bool{}}

// newPort returns a port without a listener.
func newPort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	for range lastPort - firstPort {
		if ports.next++; ports.next >= lastPort {
			ports.next = firstPort
		}
		if !ports.given[ports.next] && free(ports.next) {
			ports.given[ports.next] = true
			return ports.next, nil
		}
	}
	return 0, errors.New("no free port")
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// giveBack makes ports available again.
func giveBack(used map[string]int) {
	ports.Lock()
	defer ports.Unlock()
	for _, p := range used {
		delete(ports.given, p)
	}
}
