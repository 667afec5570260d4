package load

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const haveEpoll = true

const (
	// readSize is the size of a thread's read buffer.
	readSize = 256 << 10
	// readsAtOnce is after how many full reads of one connection the others have
	// their turn.
	readsAtOnce = 4
	// maxEvents is how many events one wait brings at most.
	maxEvents = 256
	// maxWait bounds a wait for events: the end of a run and the collector's
	// stop-the-world are never further away.
	maxWait = int64(10 * time.Millisecond)
	// oversleep is how much longer than asked a wait may take before the thread counts
	// as held up: to be woken takes time on any machine.
	oversleep = int64(time.Millisecond)
)

// epolls is the engine over epoll(7): a loop and an operating system's thread for each of
// the plan's threads.
type epolls struct {
	plan *Plan
	addr func() unix.Sockaddr // a value for one thread: to connect writes to it
	kind int                  // AF_INET, AF_INET6 or AF_UNIX
}

func newEpoll(plan *Plan) (engine, error) {
	if plan.Network == "unix" {
		return &epolls{plan, func() unix.Sockaddr { return &unix.SockaddrUnix{Name: plan.Address} }, unix.AF_UNIX}, nil
	}
	at, err := netip.ParseAddrPort(plan.Address)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	port, ip := int(at.Port()), at.Addr()
	if ip.Is4() {
		return &epolls{plan, func() unix.Sockaddr { return &unix.SockaddrInet4{Port: port, Addr: ip.As4()} }, unix.AF_INET}, nil
	}
	zone := 0
	if ip.Zone() != "" {
		i, err := net.InterfaceByName(ip.Zone())
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		zone = i.Index
	}
	return &epolls{plan, func() unix.Sockaddr {
		return &unix.SockaddrInet6{Port: port, Addr: ip.As16(), ZoneId: uint32(zone)}
	}, unix.AF_INET6}, nil
}

// epollLoop is one thread of the engine. It is the transport of its loop.
type epollLoop struct {
	*epolls
	d      *driver
	clock  clock
	to     unix.Sockaddr
	fd     int
	serial int32 // of the last descriptor
	buf    []byte
	events []unix.EpollEvent
	failed []*conn // could not be dialed, which the loop learns in its next turn
	why    []error
	more   []*conn // may have more to read
	wakes  int64
	brings int64
	waited int64 // ns; see ThreadUse
	spun   int64 // ns
	vain   bool  // the last wake brought nothing
	sent   int64 // the number of the next request at the last wake
	spin   spinWindow
}

func (e *epolls) drive(d *driver, thread int, clock clock) error {
	runtime.LockOSThread() // without an unlock: the thread ends, and with it its slack
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("load: epoll: %w", err)
	}
	defer unix.Close(fd)
	if len(e.plan.Pin) > 0 {
		var set unix.CPUSet
		set.Set(e.plan.Pin[thread%len(e.plan.Pin)])
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("load: to bind a thread to processor %d: %w", e.plan.Pin[thread%len(e.plan.Pin)], err)
		}
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // the default of 50 us is a lag
	use := newThreadUse()
	l := &epollLoop{
		epolls: e, d: d, clock: clock, to: e.addr(), fd: fd,
		buf: make([]byte, readSize), events: make([]unix.EpollEvent, maxEvents),
		spin: newSpinWindow(),
	}
	d.tr = l
	d.use = func() ThreadUse {
		u := use.read()
		u.Wakes, u.Events = l.wakes, l.brings
		u.Waited, u.Spun = time.Duration(l.waited), time.Duration(l.spun)
		return u
	}
	d.used = d.use()
	l.run()
	last := d.use()
	d.use = func() ThreadUse { return last }
	use.close()
	return nil
}

func (l *epollLoop) run() {
	d := l.d
	d.start(l.clock.now())
	for !d.turn(l.clock.now()) {
		l.tellFailed()
		now := l.clock.now()
		until := d.deadline()
		d.slept = until
		n, asked := l.wait(until, now)
		last := d.woken
		d.woken = l.clock.now()
		l.note(n, asked, last, now)
		if d.woken < until {
			d.slept = d.woken // by an event
		}
		for i := range l.events[:n] {
			l.handle(&l.events[i])
		}
		l.readMore()
	}
}

// note counts one wait, of at most asked ns, from now to d.woken.
func (l *epollLoop) note(n int, asked, last, now int64) {
	idle := l.vain && l.sent == l.d.number // the turn before it did nothing either
	l.vain, l.sent = n == 0, l.d.number
	switch {
	case asked > 0:
		l.waited += min(l.d.woken-now, asked+oversleep)
		l.spin.woken(l.d.woken - now - asked)
	case n == 0 && idle:
		l.spun += l.d.woken - last
	case n == 0:
		l.spun += l.d.woken - now
	}
}

// tellFailed tells of connections that could not even be begun.
func (l *epollLoop) tellFailed() {
	failed, why := l.failed, l.why
	l.failed, l.why = nil, nil
	for i, c := range failed {
		l.d.connected(c, l.clock.now(), why[i])
	}
}

// wait waits for events until an instant, or less, and serves nothing. It gives how many
// there are, and for how long it was to sleep.
func (l *epollLoop) wait(until, now int64) (n int, asked int64) {
	asked = until - now
	due := l.d.awaited()
	switch {
	case len(l.more) > 0, l.plan.Pace == Spin:
		asked = 0
	case l.plan.Pace == Hybrid && due != never:
		if asked = min(asked, due-now-l.spin.ns); asked <= 0 {
			l.spin.turn(l.d.number)
		}
	}
	asked = min(max(asked, 0), maxWait)
	l.wakes++
	n = l.epollWait(asked, due == never)
	l.brings += int64(n)
	return n, asked
}

// epollWait is epoll_pwait2(2), whose timeout is in ns. The scheduler of the runtime need not know
// of a wait that cannot block, nor of one that is over long before a request is due. There is a
// processor left for other goroutines (see roomFor), and the runtime's signals end the wait when it
// wants to stop the world. If the scheduler knew of the wait, it would take the thread's place away
// and give it back later. To a request that is due, that would be a lag.
func (l *epollLoop) epollWait(ns int64, hidden bool) int {
	events, size := uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events))
	if ns == 0 {
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.fd), events, size, 0, 0, 0)
		return counted(n, errno)
	}
	ts := unix.NsecToTimespec(ns)
	if hidden {
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.fd), events, size, uintptr(unsafe.Pointer(&ts)), 0, 0)
		if errno != unix.ENOSYS {
			return counted(n, errno)
		}
	}
	n, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.fd), events, size, uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno == unix.ENOSYS { // before Linux 5.11
		n, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.fd), events, size, uintptr((ns+999_999)/1_000_000), 0, 0)
	}
	return counted(n, errno)
}

func counted(n uintptr, errno syscall.Errno) int {
	if errno != 0 { // EINTR: the runtime's own signals
		return 0
	}
	return int(n)
}

// handle serves one event.
func (l *epollLoop) handle(e *unix.EpollEvent) {
	c := l.d.conns[e.Pad]
	if c.fd < 0 || c.serial != e.Fd {
		return // of a connection that has ended since
	}
	if c.state == stateDialing {
		if e.Events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
			return
		}
		l.dialed(c)
	}
	if e.Events&unix.EPOLLOUT != 0 && c.full {
		l.d.writable(c, l.clock.now())
	}
	const ends = unix.EPOLLRDHUP | unix.EPOLLERR | unix.EPOLLHUP
	if e.Events&(unix.EPOLLIN|ends) != 0 {
		l.read(c, e.Events&ends != 0)
	}
}

// dialed finds out how an attempt to connect has ended.
func (l *epollLoop) dialed(c *conn) {
	errno, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		l.hangUp(c)
	}
	l.d.connected(c, l.clock.now(), err)
}

// read reads from c until a read returns less than it could, or until the end of the stream if
// epoll has reported that as well, because it will not report it again.
func (l *epollLoop) read(c *conn, toEnd bool) {
	for i := 0; i < readsAtOnce || toEnd; i++ {
		if c.state < stateGreeting {
			return
		}
		fd, kept := c.fd, copy(l.buf, c.rest)
		// Of a socket, to receive takes the kernel less than to read.
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&l.buf[kept])), uintptr(len(l.buf)-kept), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == unix.EAGAIN:
			return
		case errno == unix.EINTR:
			continue
		case errno != 0:
			l.d.ended(c, l.clock.now(), errno)
			return
		case n == 0:
			l.d.ended(c, l.clock.now(), io.EOF)
			return
		}
		in := l.buf[:kept+int(n)]
		used := l.d.received(c, l.clock.now(), in, int(n))
		if c.fd != fd || c.state < stateGreeting {
			return
		}
		if len(in)-used == len(l.buf) {
			l.d.fail(c, ClassParse, "an answer's head of more than 256 KiB", in, l.clock.now())
			return
		}
		c.rest = append(c.rest[:0], in[used:]...)
		if len(in) < len(l.buf) && !toEnd {
			return // nothing is left; if more comes, so does an event
		}
	}
	l.more = append(l.more, c)
}

// readMore goes on with connections that have had their turn, and may have more.
func (l *epollLoop) readMore() {
	again := l.more
	l.more = nil
	for _, c := range again {
		l.read(c, false)
	}
}

// dial begins to connect.
func (l *epollLoop) dial(c *conn) {
	if err := l.begin(c); err != nil {
		l.hangUp(c)
		l.failed, l.why = append(l.failed, c), append(l.why, err)
	}
}

func (l *epollLoop) begin(c *conn) error {
	fd, err := unix.Socket(l.kind, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		c.fd = -1
		return err
	}
	c.fd = fd
	if l.kind != unix.AF_UNIX {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	// The events bring the connection's place and the serial number of its descriptor, whose own
	// number may soon be another's.
	l.serial++
	c.serial = l.serial
	if err := unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: c.serial, Pad: int32(c.index),
	}); err != nil {
		return err
	}
	err = unix.Connect(fd, l.to)
	if err == unix.EINPROGRESS || err == unix.EINTR {
		return nil
	}
	return err // nil: an event says that it is connected. EAGAIN: the queue of a unix socket is full
}

func (l *epollLoop) write(c *conn, b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(c.fd), uintptr(unsafe.Pointer(&b[sent])), uintptr(len(b)-sent), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			sent += int(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return sent, nil
		default:
			return sent, errno
		}
	}
	return sent, nil
}

func (l *epollLoop) hangUp(c *conn) {
	if c.fd >= 0 {
		unix.Close(c.fd) // which takes it out of the epoll set
		c.fd = -1
	}
}
