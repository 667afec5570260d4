package doctor

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// system returns the files of this machine's system. Where they are missing, nothing is limited.
func system() fs.FS { return os.DirFS("/") }

// controlled returns the text of a file of the process's control group, of version 2 or else of
// version 1 with its controller.
func controlled(root fs.FS, file, controller, file1 string) (text string, ok bool) {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return "", false
	}
	for _, line := range strings.Split(string(list), "\n") {
		number, rest, _ := strings.Cut(line, ":")
		controllers, group, _ := strings.Cut(rest, ":")
		base, name := "sys/fs/cgroup", file
		switch {
		case number == "0" && controllers == "":
		case strings.Contains(","+controllers+",", ","+controller+","):
			base, name = "sys/fs/cgroup/"+controller, file1
		default:
			continue
		}
		for _, dir := range []string{path.Join(base, group), base} { // within a container the group is the root
			if b, err := fs.ReadFile(root, path.Join(dir, name)); err == nil {
				return strings.TrimSpace(string(b)), true
			}
		}
	}
	return "", false
}

// quota returns the processors that the control group grants, or 0 if it grants all.
func quota(root fs.FS) float64 {
	text, ok := controlled(root, "cpu.max", "cpu", "cpu.cfs_quota_us")
	if !ok {
		return 0
	}
	most, period, two := strings.Cut(text, " ")
	if !two {
		period, _ = controlled(root, "cpu.max", "cpu", "cpu.cfs_period_us")
	}
	a, errA := strconv.ParseFloat(most, 64)
	b, errB := strconv.ParseFloat(period, 64)
	if errA != nil || errB != nil || a <= 0 || b <= 0 {
		return 0 // max, or -1
	}
	return a / b
}

// cpu compares the processors that the process uses with the ones that it gets.
func cpu(root fs.FS) Result {
	procs, granted := runtime.GOMAXPROCS(0), quota(root)
	switch {
	case granted == 0:
		return ok("%d processors, no quota", procs)
	case granted < 1:
		return warning(fmt.Sprintf("the quota is %.2g of a processor", granted),
			"raise the quota to one processor or more (CPUQuota of systemd, limits.cpu of Kubernetes): below it the process is stopped in each period, which is seen as lag")
	case float64(procs) > math.Ceil(granted):
		return warning(fmt.Sprintf("%d threads run at once, and the quota is %.3g processors", procs, granted),
			fmt.Sprintf("unset GOMAXPROCS, or set it to %d: more threads than processors use up the quota early in each period", int(math.Ceil(granted))))
	}
	return ok("%d processors, of a quota of %.3g", procs, granted)
}

// memory compares what the process uses with its limit.
func memory(root fs.FS) Result {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	used := int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
	limit, source := debug.SetMemoryLimit(-1), "GOMEMLIMIT"
	if text, found := controlled(root, "memory.max", "memory", "memory.limit_in_bytes"); found {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n < limit {
			limit, source = n, "the control group"
		}
	}
	if total := physical(root); total > 0 && total < limit {
		limit, source = total, "the machine"
	}
	if limit == math.MaxInt64 {
		return ok("%s in use, no limit", size(used))
	}
	text := fmt.Sprintf("%s in use, of %s of %s", size(used), size(limit), source)
	advice := "raise the limit, or lower limits.max_objects, limits.events and limits.event_bytes; docs/guides/data.md tells what takes memory"
	switch share := float64(used) / float64(limit); {
	case share >= 0.95:
		return problem(text, advice)
	case share >= 0.8:
		return warning(text, advice)
	}
	return ok("%s", text)
}

// physical returns the memory of the machine in bytes, or 0.
func physical(root fs.FS) int64 {
	b, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "MemTotal:"); found {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

const (
	// fewFiles is the limit of open files below which the bounds on connections are lowered.
	fewFiles = 4096
	// filesShare is the share of the limit that may be open.
	filesShare = 0.8
)

func (f *Facts) openFiles() Result {
	if f.Files == 0 {
		return Skip("this system does not tell the limit of open files")
	}
	open, text := 0, fmt.Sprintf("at most %d", f.Files)
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		open = len(list)
		text = fmt.Sprintf("%d of at most %d are open", open, f.Files)
	}
	advice := "raise the limit to 65536 or more: LimitNOFILE of the systemd unit, ulimit -n of a shell, --ulimit nofile of a container; the process has to be started again"
	switch {
	case float64(open) >= filesShare*float64(f.Files):
		return problem(text, advice)
	case f.Files < fewFiles:
		return warning(text+", so the interfaces share few connections", advice)
	}
	return ok("%s", text)
}

// size writes bytes for people.
func size(n int64) string {
	for _, u := range []struct {
		name string
		n    int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.n {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(u.n), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
