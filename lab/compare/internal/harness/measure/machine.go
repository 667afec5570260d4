package measure

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// clockTick is the unit of processor times in /proc, on every Linux that Go
// supports.
const clockTick = 10 * time.Millisecond

// MachineUsage returns what all processes have used since the machine has
// started, in steps of 10 ms a processor; what interrupts took is system time. On
// other systems than Linux it is an error that wraps [errors.ErrUnsupported].
func MachineUsage() (Usage, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, iowait, irq, softirq int64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &softirq); err != nil {
		return Usage{}, fmt.Errorf("/proc/stat: %w", err)
	}
	return Usage{
		User:   time.Duration(user+nice) * clockTick,
		System: time.Duration(system+irq+softirq) * clockTick,
	}, nil
}
