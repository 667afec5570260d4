package harness

import (
	"time"

	"paddock/lab/internal/runfile"
)

// Machine is where a run took place.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	OS     string `json:"os"`
}

// ThisMachine describes the machine that runs the comparison.
func ThisMachine() Machine {
	m := runfile.ReadManifest(nil, time.Time{})
	said := func(s *string) string {
		if s == nil {
			return "unknown"
		}
		return *s
	}
	return Machine{CPU: said(m.CPUModel), Cores: m.CPUs, Kernel: said(m.Kernel), Go: m.Go, OS: m.OS + "/" + m.Arch}
}
