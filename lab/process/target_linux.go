package process

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of processor times in /proc, on every Linux that Go supports.
const clockTick = 10 * time.Millisecond

// maxProcesses bounds the processes of a service that are looked at.
const maxProcesses = 256

// Target watches this machine while a service on it is measured. One goroutine uses it.
type Target struct {
	at   time.Time
	last TargetUse             // sums since the machine has started
	cpu  map[int]time.Duration // of the service, by process
}

// WatchTarget watches from now on. It is nil if the address is of another machine. network is "tcp"
// or "unix".
func WatchTarget(network, address string) *Target {
	if network != "unix" && !isHere(address) {
		return nil
	}
	t := &Target{cpu: map[int]time.Duration{}}
	for _, pid := range listeners(network, address) {
		t.cpu[pid] = 0
	}
	t.Since()
	return t
}

// Since returns what was done since the call before, or since WatchTarget. Processes that have
// ended, or that were started meanwhile, are left out.
func (t *Target) Since() *TargetUse {
	if t == nil {
		return nil
	}
	now, at := machineUse(), time.Now()
	u := now
	u.Length = at.Sub(t.at)
	u.User, u.System, u.Idle, u.Steal = u.User-t.last.User, u.System-t.last.System, u.Idle-t.last.Idle, u.Steal-t.last.Steal
	u.Switches, u.Resent, u.Dropped = u.Switches-t.last.Switches, u.Resent-t.last.Resent, u.Dropped-t.last.Dropped
	if now.Waited != nil && t.last.Waited != nil {
		waited := *now.Waited - *t.last.Waited
		u.Waited = &waited
	}
	t.last, t.at = now, at
	for _, pid := range slices.Sorted(maps.Keys(t.cpu)) {
		cpu, err := CPU(pid)
		if err != nil {
			delete(t.cpu, pid)
			continue
		}
		if u.Service == nil {
			u.Service = &ServiceUse{}
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended by now
		u.Service.Processes = append(u.Service.Processes, pid)
		u.Service.CPU += cpu - t.cpu[pid]
		u.Service.Resident += field(status, "VmRSS:") << 10
		t.cpu[pid] = cpu
	}
	return &u
}

// Processors returns the times of all processors since the machine has started, in steps of 10 ms
// of each; interrupts are in system, and steal is what other virtual machines took.
func Processors() (user, system, idle, steal time.Duration, err error) {
	stat, err := os.ReadFile("/proc/stat")
	user, system, idle, steal = processors(stat)
	return user, system, idle, steal, err
}

// processors reads the first line of /proc/stat.
func processors(stat []byte) (user, system, idle, steal time.Duration) {
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	for i, of := range []*time.Duration{&user, &user, &system, &idle, &idle, &system, &system, &steal} {
		if i+1 < len(fields) { // user, nice, system, idle, iowait, irq, softirq, steal
			n, _ := strconv.ParseInt(fields[i+1], 10, 64)
			*of += time.Duration(n) * clockTick
		}
	}
	return user, system, idle, steal
}

// machineUse reads the sums of this machine. What cannot be read is 0.
func machineUse() (u TargetUse) {
	stat, _ := os.ReadFile("/proc/stat")
	u.User, u.System, u.Idle, u.Steal = processors(stat)
	u.Switches = field(stat, "ctxt")
	memory, _ := os.ReadFile("/proc/meminfo")
	u.Available = field(memory, "MemAvailable:") << 10
	u.Resent = counter("/proc/net/snmp", "Tcp:", "RetransSegs")
	u.Dropped = counter("/proc/net/netstat", "TcpExt:", "ListenDrops")
	pressure, _ := os.ReadFile("/proc/pressure/cpu")
	if _, total, ok := bytes.Cut(pressure, []byte("total=")); ok {
		text, _, _ := strings.Cut(string(total), "\n")
		n, _ := strconv.ParseInt(text, 10, 64)
		waited := time.Duration(n) * time.Microsecond
		u.Waited = &waited
	}
	return u
}

// counter returns a counter of a file that has a line of names, and one of numbers below it.
func counter(file, kind, name string) int64 {
	text, _ := os.ReadFile(file)
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != kind {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i := range min(len(names), len(fields)) {
			if names[i] == name {
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				return n
			}
		}
	}
	return 0
}

// listeners returns the ids of the processes that have a socket which listens at an address. It
// finds those of other users only as root.
func listeners(network, address string) (pids []int) {
	sockets := map[string]bool{}
	if network == "unix" {
		eachLine("/proc/net/unix", func(f []string) {
			if len(f) == 8 && f[7] == address {
				sockets["socket:["+f[6]+"]"] = true
			}
		})
	} else if _, port, err := net.SplitHostPort(address); err == nil {
		number, _ := net.LookupPort("tcp", port)
		suffix := fmt.Sprintf(":%04X", number)
		for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			eachLine(file, func(f []string) {
				const listen = "0A" // TCP_LISTEN
				if len(f) > 9 && f[3] == listen && strings.HasSuffix(f[1], suffix) {
					sockets["socket:["+f[9]+"]"] = true
				}
			})
		}
	}
	if len(sockets) == 0 {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		files, _ := os.ReadDir(dir + "/fd")
		for _, file := range files {
			if to, _ := os.Readlink(dir + "/fd/" + file.Name()); sockets[to] && len(pids) < maxProcesses {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// eachLine calls f with the fields of each line of a file. Lines that cannot be read are left out.
func eachLine(file string, f func(fields []string)) {
	r, err := os.Open(file)
	if err != nil {
		return
	}
	defer r.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f(strings.Fields(lines.Text()))
	}
}
