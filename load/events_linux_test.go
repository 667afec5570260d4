package load

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pendingAddress gives an address where connections stay under way.
func pendingAddress(t *testing.T) *unix.SockaddrInet4 {
	t.Helper()
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(listener) })
	if err := unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(listener, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(listener)
	if err != nil {
		t.Fatal(err)
	}
	at := name.(*unix.SockaddrInet4)
	for range 8 { // until its queue is full
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Connect(fd, at); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
	}
	return at
}

// An event of a descriptor that was closed is none of the next one, although the two have the same
// number.
func TestEventOfAClosedDescriptor(t *testing.T) {
	full := pendingAddress(t)
	service, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	plan := &Plan{Address: "desk", Codec: &Raw{Request: []byte("ask"), Answer: 3}, Duration: time.Minute}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	l := &epollLoop{
		epolls: &epolls{plan: plan, kind: unix.AF_INET}, fd: fd, clock: clock{time.Now()}, events: make([]unix.EpollEvent, 1),
		d: newDriver(newLoop(plan, nil, 0, 1), new(atomic.Bool), new(atomic.Int32)),
	}
	l.d.tr = l
	c := l.d.conns[0]
	for range 100 {
		l.to = &unix.SockaddrInet4{Port: service.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
		l.d.dial(c, 0)
		for l.epollWait(int64(time.Second), false) == 0 {
			if t.Context().Err() != nil {
				return
			}
		}
		event, before := l.events[0], c.fd
		l.hangUp(c)
		l.to = full
		l.d.dial(c, 0)
		if c.fd == before {
			l.handle(&event)
			if c.state != stateDialing || l.d.rec.Connects != 0 {
				t.Errorf("state %d, %d connections", c.state, l.d.rec.Connects)
			}
			l.hangUp(c)
			return
		}
		l.hangUp(c)
	}
	t.Skip("the number was always another's")
}
