package process

import (
	"net"
	"slices"
	"time"
)

// TargetUse is what this machine did for a time, while a service on it was measured, and what the
// processes of the service did.
type TargetUse struct {
	Length time.Duration `json:"length_ns"` // between the readings
	// Of all processors; interrupts are in System.
	User   time.Duration `json:"user_ns"`
	System time.Duration `json:"system_ns"`
	Idle   time.Duration `json:"idle_ns"`
	Steal  time.Duration `json:"steal_ns"` // taken by other virtual machines
	// Waited is for how long a task had no processor; nil = the kernel does not tell (PSI).
	Waited    *time.Duration `json:"waited_ns"`
	Switches  int64          `json:"switches"`        // of processors, from one task to another
	Resent    int64          `json:"tcp_resent"`      // segments
	Dropped   int64          `json:"listen_drops"`    // connections that a listener had no room for
	Available int64          `json:"available_bytes"` // memory, the least
	Service   *ServiceUse    `json:"service"`         // nil = its processes are not found
}

// ServiceUse is what the processes that listen at an address did.
type ServiceUse struct {
	Processes []int         `json:"processes"` // their ids
	CPU       time.Duration `json:"cpu_ns"`
	Resident  int64         `json:"resident_bytes"` // the most; memory that they share counts for each
}

// Add adds another time of the same machine.
func (u *TargetUse) Add(o *TargetUse) {
	u.Length += o.Length
	u.User += o.User
	u.System += o.System
	u.Idle += o.Idle
	u.Steal += o.Steal
	u.Switches += o.Switches
	u.Resent += o.Resent
	u.Dropped += o.Dropped
	if u.Available == 0 || o.Available < u.Available {
		u.Available = o.Available
	}
	if o.Waited != nil {
		sum := *o.Waited
		if u.Waited != nil {
			sum += *u.Waited
		}
		u.Waited = &sum
	}
	if o.Service != nil {
		sum := *o.Service
		if u.Service != nil {
			sum.CPU, sum.Resident = sum.CPU+u.Service.CPU, max(sum.Resident, u.Service.Resident)
		}
		u.Service = &sum
	}
}

// isHere reports whether an address is one of this machine. Its name is resolved.
func isHere(address string) bool {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return false
	}
	own, _ := net.InterfaceAddrs()
	return tcp.IP.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(tcp.IP)
	})
}
