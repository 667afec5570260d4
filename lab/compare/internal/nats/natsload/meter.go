package natsload

import (
	"errors"
	"runtime"

	"paddock/lab/compare/internal/harness/measure"
)

// meter is a window in which the machine's processor time counts too.
type meter struct {
	*measure.Meter
	machine measure.Usage
}

func startMeter(server Server) (*meter, error) {
	runtime.GC() // what the warm-up has left is not the window's
	machine, err := measure.MachineUsage()
	if err != nil {
		return nil, err
	}
	m, err := measure.StartMeter(server)
	return &meter{m, machine}, err
}

func (m *meter) stop(into *measure.Measurement) error {
	err := m.Meter.Stop(into)
	machine, failed := measure.MachineUsage()
	into.Machine = machine.Sub(m.machine).Total()
	return errors.Join(err, failed)
}
