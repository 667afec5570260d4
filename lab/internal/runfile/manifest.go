package runfile

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"paddock/internal/process/version"
)

// Manifest describes the program and the system of a run. Unknown values are nil.
type Manifest struct {
	Began time.Time `json:"began"`
	Argv  []string  `json:"argv"` // without secrets

	Version    string  `json:"version"`
	Revision   *string `json:"revision"` // of the source
	Modified   *bool   `json:"modified"` // the source had uncommitted changes
	Go         string  `json:"go"`
	GOMAXPROCS int     `json:"gomaxprocs"`

	OS          string            `json:"os"`
	Arch        string            `json:"arch"`
	Kernel      *string           `json:"kernel"`
	CPUModel    *string           `json:"cpu_model"`
	CPUs        int               `json:"cpus"`
	Governor    *string           `json:"governor"`     // of the first processor's frequency
	ClockSource *string           `json:"clock_source"` // of the kernel
	Mitigations map[string]string `json:"mitigations"`  // by vulnerability of the processor
	CPUQuota    *string           `json:"cpu_quota"`    // cpu.max of the control group
	OpenFiles   *Limit            `json:"open_files"`

	CorpusHash *string `json:"corpus_hash"` // of what was sent, if it came from files
}

// Limit is a resource's limit.
type Limit struct {
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"`
}

// ReadManifest reads the values that the system provides. It omits secrets from argv: see [Redact].
func ReadManifest(argv []string, began time.Time, secretFlags ...string) *Manifest {
	v := version.Get()
	m := &Manifest{
		Began: began, Argv: Redact(argv, secretFlags...), Version: v.Version, Go: runtime.Version(),
		GOMAXPROCS: runtime.GOMAXPROCS(0), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		Kernel:      readLine("/proc/sys/kernel/osrelease"),
		CPUModel:    cpuModel(),
		Governor:    readLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		ClockSource: readLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Mitigations: mitigations(),
		CPUQuota:    cpuQuota(),
		OpenFiles:   openFiles(),
	}
	if v.Revision != "" {
		m.Revision, m.Modified = &v.Revision, &v.Dirty
	}
	return m
}

// readLine is a file's first line; nil = it cannot be read, or is empty.
func readLine(name string) *string {
	b, err := os.ReadFile(name)
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return nil
	}
	return &line
}

func cpuModel() *string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			value = strings.TrimSpace(value)
			return &value
		}
	}
	return nil
}

func mitigations() map[string]string {
	files, _ := filepath.Glob("/sys/devices/system/cpu/vulnerabilities/*")
	var all map[string]string
	for _, f := range files {
		if line := readLine(f); line != nil {
			if all == nil {
				all = map[string]string{}
			}
			all[filepath.Base(f)] = *line
		}
	}
	return all
}

func cpuQuota() *string {
	b, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return readLine(path.Join("/sys/fs/cgroup", group, "cpu.max"))
		}
	}
	return nil
}
